"""Merge several config files into one."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

# The keys that say what an entry is. An entry with one of them is taken whole and replaces an earlier one of its name;
# an entry without changes the earlier one, key by key.
KINDS: Mapping[str, tuple[str, ...]] = {
    "corpora": ("source",),
    "tokens": ("path", "corpus", "rows"),
    "loaders": ("module",),
    "repositories": ("source",),
    "experiments": ("workload",),
    "comparisons": ("baselines",),
    "ladders": ("package",),
}


def read(
    defaults: Sequence[Path | str],
    given: Sequence[Path | str],
    put: Mapping[str, Any],
    content_of: Callable[[Any], Mapping[str, Any]],
) -> tuple[dict[str, Any], list[Path | str]]:
    """The config of some files, the last one strongest, with `put` over them; and the files that it is made of.

    Where one of the given files says `defaults: none`, the default files are left out, and without `results` the
    results are named after the last file.
    """
    contents = [content_of(file) for file in given]
    alone = any(content.get("defaults") == "none" for content in (*contents, put))
    files = [*(() if alone else defaults), *given]
    config = merged([*(() if alone else map(content_of, defaults)), *contents, put])
    if alone and given:
        config.setdefault("results", f"results-{Path(given[-1]).stem}")
    return config, files


def merged(contents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Merge contents of config files; later ones win."""
    config: dict[str, Any] = {}
    for content in contents:
        for section, value in content.items():
            config[section] = _over(config.get(section), value, KINDS.get(section))
    return config


def _over(before: Any, after: Any, kinds: tuple[str, ...] | None = None) -> Any:
    """Merge one value over another. With `kinds`, the values are maps of entries."""
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return after
    values = dict(before)
    for key, value in after.items():
        whole = kinds is not None and isinstance(value, Mapping) and not value.keys().isdisjoint(kinds)
        values[key] = value if whole else _over(before.get(key), value)
    return values
