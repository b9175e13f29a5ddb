"""From a config as read to a checked one: every fault in one clear line that names the file and the key."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from ..metrics import METRICS
from . import tokens
from .model import Config

NOUNS = {"tokens": "token dataset", "format": "format", "loader": "loader"}


class ConfigError(ValueError):
    """A config that cannot be run; the text is one line a fault."""


def load(config: Mapping[str, Any], files: Sequence[Path | str] = (), root: Path | str = ".") -> Config:
    """Check a config and everything it names.

    `files` are the files it was merged from, the last one strongest: they are only read to say where a fault stands.
    `root` is the folder that holds `envs/`. Raises ConfigError.
    """
    where = _Origin(files)
    try:
        checked = Config.model_validate(dict(config))
    except ValidationError as error:
        raise ConfigError("\n".join(_lines(error, config, where))) from None
    faults = list(_faults(checked, Path(root), where))
    faults += _ladder_faults(checked, where)
    if faults:
        raise ConfigError("\n".join(faults))
    return checked


def _faults(config: Config, root: Path, where: "_Origin") -> Iterable[str]:
    stacks = {path.stem for path in (root / "envs").glob("*.in")}
    for name in config.only or ():
        if not config.experiments.get(name):
            yield where("only") + f"no experiment {name!r}" + _instead(name, config.experiments)
    for name, dataset in config.tokens.items():
        if dataset.corpus and dataset.corpus not in config.corpora:
            yield (
                where("tokens", name, "corpus")
                + f"no corpus {dataset.corpus!r}"
                + _instead(dataset.corpus, config.corpora)
            )
        if not dataset.corpus and not dataset.rows:
            yield where("tokens", name) + "key 'rows' is missing: without a corpus nothing else says how many"
    for name, experiment in config.run().items():
        key = ("experiments", name, "matrix")
        matrix = experiment.matrix
        for stack in matrix.stack:
            if stack not in stacks:
                yield where(*key, "stack") + f"no stack {stack!r} in envs/" + _instead(stack, stacks)
        for corpus in getattr(matrix, "corpus", ()):
            if corpus not in config.corpora:
                yield where(*key, "corpus") + f"no corpus {corpus!r}" + _instead(corpus, config.corpora)
                continue
            count = config.corpora[corpus].file_count()
            asked = max(getattr(matrix, "num_files", (0,)))
            if count and asked > count:
                yield where(*key, "num_files") + f"{asked} files asked for, and corpus {corpus!r} has {count}"
        yield from _reading_faults(config, name, root, where)
        for repository in getattr(matrix, "repository", ()):
            found = config.repositories.get(repository)
            if not found:
                yield (
                    where(*key, "repository")
                    + f"no repository {repository!r}"
                    + _instead(repository, config.repositories)
                )
            elif (found.source == "hub") != bool(getattr(experiment, "endpoint", None)):
                yield (
                    where(*key, "repository")
                    + f"{repository!r} has source {found.source}; `hub` and the "
                    + ("experiment's key `endpoint` go together")
                )
            elif found.source not in experiment.SOURCES:
                yield (
                    where(*key, "repository")
                    + f"{repository!r} has source {found.source}; workload {experiment.workload} reads "
                    + " or ".join(experiment.SOURCES)
                )
        if not config.cells(name):
            yield where(*key) + "the matrix is empty: no combination of these values can be run"


def _reading_faults(config: Config, name: str, root: Path, where: "_Origin") -> Iterable[str]:
    """What an experiment names of token datasets, formats and loaders."""
    key, matrix = ("experiments", name, "matrix"), config.run()[name].matrix
    own = config.loaders if config.run()[name].workload == "load" else {}
    for axis, known in (
        ("tokens", config.tokens),
        ("format", dict.fromkeys(tokens.formats(root))),
        ("loader", dict.fromkeys([*tokens.loaders(root), *own])),
    ):
        for value in getattr(matrix, axis, ()):
            if value not in known and (axis, value) != ("tokens", "none"):
                yield where(*key, axis) + f"no {NOUNS[axis]} {value!r}" + _instead(value, known)
    for loader in getattr(matrix, "loader", ()):
        if loader not in own and "none" in getattr(matrix, "tokens", ()):
            yield where(*key, "tokens") + f"loader {loader!r} reads a token dataset, and none is named"
        elif loader in own and not Path(own[loader].module).is_file():
            yield where("loaders", loader, "module") + f"there is no file {own[loader].module}"


def _ladder_faults(config: Config, where: "_Origin") -> Iterable[str]:
    running = config.run()
    for name, ladder in config.climbed().items():
        if ladder.experiment not in running:
            yield (
                where("ladders", name, "experiment")
                + f"no experiment {ladder.experiment!r}"
                + _instead(ladder.experiment, running)
            )
        if ladder.metric not in METRICS:
            yield where("ladders", name, "metric") + f"no metric {ladder.metric!r}" + _instead(ladder.metric, METRICS)


def _instead(wrong: str, known: Iterable[str]) -> str:
    known = sorted(known)
    close = difflib.get_close_matches(wrong, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"{hint} (there {'is' if len(known) == 1 else 'are'}: {', '.join(known) or 'none'})"


def _lines(error: ValidationError, config: Mapping[str, Any], where: "_Origin") -> Iterable[str]:
    """pydantic's findings, one line a fault, under the key as the user wrote it."""
    lines: dict[tuple[Any, ...], str] = {}
    for fault in error.errors(include_url=False):
        added = fault["type"] == "missing"
        key = _as_written(fault["loc"][: -1 if added else None], config)
        if added:
            line = where(*key) + f"key {fault['loc'][-1]!r} is missing"
        elif fault["type"] == "extra_forbidden":
            line = where(*key[:-1]) + f"unknown key {key[-1]!r}" + _instead(str(key[-1]), _known_keys(key[:-1], config))
        elif fault["type"] == "union_tag_invalid":
            tag = fault["ctx"]["discriminator"].strip("'")
            line = where(*key, tag) + f"{fault['ctx']['tag']!r} is none of {fault['ctx']['expected_tags']}"
        elif fault["type"] == "union_tag_not_found":
            line = where(*key) + f"key {fault['ctx']['discriminator']} is missing"
        else:
            given = "" if isinstance(fault["input"], dict) else f"; given: {fault['input']!r}"
            line = where(*key) + fault["msg"].removeprefix("Value error, ") + given
        lines.setdefault(tuple(key), line)  # one line a key, where several branches of a union object to it
    return lines.values()


def _as_written(location: Sequence[Any], config: Any) -> list[Any]:
    """A location of pydantic's without the parts that name a branch of a union and stand in no file."""
    key = []
    for part in location:
        try:
            config = config[part]
        except (KeyError, IndexError, TypeError):
            continue
        key.append(part)
    return key


def _known_keys(key: Sequence[Any], config: Any) -> Iterable[str]:
    """The keys that the schema allows under a key."""
    schema = Config.model_json_schema()
    node = schema
    for part in [*key, None]:
        options = list(_options(node, schema["$defs"], config))
        node = next((o for o in options if {"properties", "patternProperties", "items"} & set(o)), {})
        if part is None:
            return list(node.get("properties", {}))
        config = config[part]
        named = next(iter(node.get("patternProperties", {}).values()), None) or node.get("additionalProperties")
        node = node.get("properties", {}).get(part) or node.get("items") or named or {}
    return ()


def _options(node: dict[str, Any], defs: dict[str, Any], config: Any) -> Iterable[dict[str, Any]]:
    """The schemas that a node stands for: itself, what it refers to, and those of its branches that fit the config."""
    if "$ref" in node:
        node = defs[node["$ref"].rpartition("/")[2]]
    yield node
    by = node.get("discriminator", {}).get("propertyName")
    for branch in [*node.get("anyOf", []), *node.get("oneOf", [])]:
        for option in _options(branch, defs, config):
            if by is None or option.get("properties", {}).get(by, {}).get("const") == config.get(by):
                yield option


class _Origin:
    """Says which of the merged files a key was last written in."""

    def __init__(self, files: Sequence[Path | str]) -> None:
        self.contents = [(str(file), yaml.safe_load(Path(file).read_text(encoding="utf-8"))) for file in files]

    def __call__(self, *key: Any) -> str:
        dotted = ".".join(str(part) for part in key)
        for length in range(len(key), 0, -1):
            for file, content in reversed(self.contents):
                if len(_as_written(key[:length], content)) == length:
                    return f"{file}, {dotted}: "
        return ", ".join(filter(None, [self.contents[-1][0] if self.contents else "", dotted])) + ": "
