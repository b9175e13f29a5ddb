"""Merge several config files into one."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

# The keys that define an entry. An entry with one of them replaces an earlier one of its name as a whole; an entry
# without changes the earlier one key by key.
KINDS: Mapping[str, tuple[str, ...]] = {
    "corpora": ("source",),
    "tokens": ("path", "rows"),
    "loaders": ("module",),
    "repositories": ("source",),
    "experiments": ("workload",),
    "comparisons": ("baselines",),
    "ladders": ("package",),
}


def read(
    defaults: Sequence[Path | str],
    config_files: Sequence[Path | str],
    overrides: Mapping[str, Any],
    content_of: Callable[[Any], Mapping[str, Any]],
) -> tuple[dict[str, Any], list[Path | str]]:
    """The merged config of some files, the last one strongest, with `overrides` on top; and the files that were used.

    If one of the config files has `defaults: none`, the default files are left out; then, without `results`, the
    results folder is named after the last file.
    """
    contents = [content_of(file) for file in config_files]
    alone = any(content.get("defaults") == "none" for content in (*contents, overrides))
    files = [*(() if alone else defaults), *config_files]
    config = merged([*(() if alone else map(content_of, defaults)), *contents, overrides])
    if alone and config_files:
        config.setdefault("results", f"results-{Path(config_files[-1]).stem}")
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
