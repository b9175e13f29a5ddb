"""Check a config: every fault in one line that names the file and the key."""

import functools
import os
import re
import reprlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from ..metrics import METRICS
from ..text import did_you_mean, first_of
from ..tokenize.formats import tokenizer_file
from . import inputs, tokens
from .corpora import FilesCorpus
from .model import Config
from .places import NotEchoedError, results_fault
from .workloads.base import is_flag
from .workloads.script import NO_ARGUMENTS

# Limits for echoed values; maximum number of values in a config with its aliases expanded.
_ECHO = reprlib.Repr()
_ECHO.maxlevel, _ECHO.maxstring, _ECHO.maxother, _ECHO.maxlong = 3, 200, 100, 40
_MOST_LINES, _MOST_CHARACTERS, _MOST_VALUES = 20, 1000, 1_000_000
_MOST_RUNS = 100_000


class ConfigError(ValueError):
    """A config that cannot be run; the text has one line per fault."""

    def __init__(self, *faults: str) -> None:
        lines = [_one_line(fault) for fault in faults[:_MOST_LINES]]
        more = len(faults) - len(lines)
        super().__init__("\n".join([*lines, *([f"and {more} faults more"] if more else [])]))


class _Loader(yaml.SafeLoader):
    """A loader that refuses a key that stands twice, of which YAML's others take the last."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node = super().compose_mapping_node(anchor)
        keys = set[str]()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in keys:
                raise yaml.MarkedYAMLError(problem=f"key {key.value!r} stands twice", problem_mark=key.start_mark)
            keys.add(str(key.value))
        return node


def content_of(file: Path | str) -> dict[str, Any]:
    """The content of a config file. Raises ConfigError if it is not a map of keys."""
    try:
        content = _Loader(Path(file).read_bytes()).get_single_data()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(f"{file}{at}: no YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{file}: no YAML: {getattr(error, 'reason', None) or error}") from None
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        raise ConfigError(f"{file}: {'empty' if content is None else 'no config'}; it has to be a map of keys")
    return content


def load(
    config: Mapping[str, Any],
    files: Sequence[Path | str] = (),
    root: Path | str = ".",
    overrides: Mapping[str, Any] | None = None,
) -> Config:
    """Check a config and everything it names.

    `files` are the merged config files, the last one strongest, and `overrides` is what `--config` set; both are only
    read to locate a fault. `root` is the folder with `envs/`. Raises ConfigError.
    """
    where = _Origin(files, overrides or {})
    for file, content in where.contents:
        if content.get("experiments") == {}:
            raise ConfigError(f"{file}, experiments: names none; name one, or leave the key out")
    if fault := _size_fault(config, where):
        raise ConfigError(fault)
    try:
        checked = Config.model_validate(dict(config), context={"folder": _folder(config)})
    except ValidationError as error:
        raise ConfigError(*_lines(error, config, where)) from None
    if fault := results_fault(checked.results, root):
        raise ConfigError(where("results") + fault + f"; given: {_ECHO.repr(checked.results)}")
    planned = checked.planned()
    if sum(planned.values()) > _MOST_RUNS:
        most = max(planned, key=lambda name: planned[name])
        raise ConfigError(
            where("experiments", most)
            + f"{planned[most]:,} runs are planned here and {sum(planned.values()):,} in all; the most are "
            f"{_MOST_RUNS:,}"
        )
    if faults := list(_faults(checked, Path(root), where)):
        raise ConfigError(*faults)
    if not checked.run() and not checked.tokenise:
        raise ConfigError(where("experiments") + "none is left to run; name one")
    return checked


def _folder(config: Mapping[str, Any]) -> str | None:
    """The folder that the config's paths are relative to, from a config that is not checked yet."""
    folder = config.get("folder")
    return os.path.normpath(folder) if isinstance(folder, str) and folder and os.path.normpath(folder) != "." else None


def _one_line(fault: str) -> str:
    """A fault without line ends and escapes, cut to a length that a terminal can show."""
    printable = re.sub(r"[^\x20-\x7e\xa1-\ud7ff\ue000-\U0010ffff]+", " ", fault)
    return printable if len(printable) <= _MOST_CHARACTERS else f"{printable[:_MOST_CHARACTERS]} …"


def _size_fault(config: Mapping[str, Any], where: "_Origin") -> str | None:
    """The largest key of a config whose aliases expand to too many values, or to themselves."""
    counted: dict[int, float] = {}

    def size(value: Any) -> float:
        if not isinstance(value, Mapping | list | tuple):
            return 1
        if id(value) not in counted:
            counted[id(value)] = float("inf")  # infinite while it is counted: the value may contain itself
            parts = value.values() if isinstance(value, Mapping) else value
            counted[id(value)] = 1 + sum(map(size, parts))
        return counted[id(value)]

    try:
        sizes = {key: size(value) for key, value in config.items()}
    except RecursionError:
        return where() + "is nested too deeply"
    if sum(sizes.values()) <= _MOST_VALUES:
        return None
    most = max(sizes, key=lambda key: sizes[key])
    return where(most) + f"stands for more than {_MOST_VALUES:,} values, its aliases written out; that cannot be meant"


def _faults(config: Config, root: Path, where: "_Origin") -> Iterable[str]:
    stacks = {path.stem for path in (root / "envs").glob("*.in")}
    there = [name for name, experiment in config.experiments.items() if experiment]
    yield from _unknown(where("only"), "experiment", config.only or (), there)
    for name, dataset in config.tokens.items():
        if not dataset.path and not dataset.rows:
            yield where("tokens", name) + "key 'rows' is missing: without a file nothing else says how many"
    for name, comparison in config.comparisons.items():
        for role in ("baselines", "candidates"):
            at = where("comparisons", name, role)
            yield from _unknown(at, "stack", getattr(comparison, role), stacks, " in envs/")
    yield from _file_faults(config, root, where)
    if own := config.tokenise:
        yield from _unknown(where("tokenise", "stack"), "stack", [own.stack] if own.stack else [], stacks, " in envs/")
        try:
            tokenizer_file(own.tokenizer)
        except ValueError as error:
            yield where("tokenise", "tokenizer") + str(error).removeprefix("--tokenizer ")
    for name, experiment in config.run().items():
        key = ("experiments", name, "matrix")
        matrix = experiment.matrix
        yield from _unknown(where(*key, "stack"), "stack", matrix.stack, stacks, " in envs/")
        yield from _unknown(where(*key, "corpus"), "corpus", getattr(matrix, "corpus", ()), config.corpora)
        for corpus in (one for one in getattr(matrix, "corpus", ()) if one in config.corpora):
            needed = max(getattr(matrix, "num_files", (0,)))
            if (count := config.corpora[corpus].file_count()) and count < needed:
                yield where(*key, "num_files") + f"{needed} files asked for, and corpus {corpus!r} has {count}"
        yield from _question_faults(config, name, where)
        yield from _reading_faults(config, name, root, where)
        for repository in getattr(matrix, "repository", ()):
            described, at = config.repositories.get(repository), where(*key, "repository")
            if not described:
                yield at + _none("repository", repository, config.repositories)
                continue
            source = f"{at}{repository!r} has source {described.source}; "
            if (described.source == "hub") != bool(getattr(experiment, "endpoint", None)):
                yield source + "`hub` and the experiment's key `endpoint` go together"
            elif described.source not in ("parquet", "hub"):
                yield source + f"workload {experiment.workload} reads parquet or hub"
        if not config.cells(name):
            yield where(*key) + "the matrix is empty: no combination of these values can be run"
    for name, ladder in config.running_ladders().items():
        yield from _unknown(where("ladders", name, "experiment"), "experiment", [ladder.experiment], config.run())
        yield from _unknown(where("ladders", name, "metrics"), "metric", ladder.metrics, METRICS)


def _question_faults(config: Config, name: str, where: "_Origin") -> Iterable[str]:
    """Planned questions that no comparison of the experiment answers."""
    experiment = config.run()[name]
    decided = [key for key, metric in METRICS.items() if metric.decided_in(experiment.workload)]
    flags = filter(is_flag, experiment.matrix.values())
    compared = ["stack", *experiment.points().compared(), *flags]
    ran = [dict(cell.axes) for cell in config.cells(name)]
    for number, question in enumerate(experiment.questions):
        key = ("experiments", name, "questions", number)
        metric = METRICS.get(question.metric)  # of a script, perhaps a number of its own
        if metric is None or not metric.decided_in(experiment.workload):
            of = f" that is compared in workload {experiment.workload}"
            yield where(*key, "metric") + _none("metric", question.metric, decided, of)
        yield from _unknown(where(*key, "compare"), "compared axis", [question.compare], compared)
        for axis in question.where:
            of_cells = {cell[axis] for cell in ran if axis in cell}
            if not of_cells:
                yield where(*key, "where") + _none("axis", axis, experiment.matrix.values())
                continue
            values = map(str, question.values(axis, of_cells))
            yield from _unknown(where(*key, "where", axis), "value", values, [*map(str, of_cells)], " in a cell")


def _reading_faults(config: Config, name: str, root: Path, where: "_Origin") -> Iterable[str]:
    """Check the token datasets, formats and loaders that an experiment names."""
    key, matrix = ("experiments", name, "matrix"), config.run()[name].matrix
    own, named, loaders = config.loaders, getattr(matrix, "tokens", ()), getattr(matrix, "loader", ())
    yield from _unknown(where(*key, "tokens"), "token dataset", named, config.tokens, without=["none"])
    yield from _unknown(where(*key, "loader"), "loader", loaders, [*tokens.names_in(tokens.LOADERS, root), *own])
    for loader in loaders:
        if not (loader in own and own[loader].data) and "none" in named:
            hint = "; name one here, or its own `data` there" if loader in own else ""
            yield where(*key, "tokens") + f"loader {loader!r} reads a token dataset, and none is named{hint}"
    yield from _script_faults(config, name, root, where)


def _script_faults(config: Config, name: str, root: Path, where: "_Origin") -> Iterable[str]:
    """Scripts and arguments of an experiment that do not exist."""
    matrix = config.run()[name].matrix
    for script in getattr(matrix, "script", ()):
        if script not in config.scripts:
            yield where("experiments", name, "matrix", "script") + _none("script", script, config.scripts)
            continue
        own = config.scripts[script]
        if fault := inputs.module(own.file, []):
            yield where("scripts", script, "file") + fault
        for key, known in (
            ("repository", config.repositories),
            ("corpus", config.corpora),
            ("tokens", config.tokens),
            ("formats", tokens.names_in(tokens.FORMATS, root) if own.tokens else ()),
        ):
            named = getattr(own, key)
            values = named if key == "formats" else [named] if named else ()
            yield from _unknown(where("scripts", script, key), key.removesuffix("s"), values, known)
        if own.repository and (config.run()[name].find_limit or config.run()[name].why):
            yield where("experiments", name) + f"find_limit and why: not with script {script!r}, which has a repository"
        for axis in ("arguments", "side"):
            at, of = where("experiments", name, "matrix", axis), f" of script {script!r}"
            yield from _unknown(at, "arguments", getattr(matrix, axis), own.arguments, of, [NO_ARGUMENTS])


def _file_faults(config: Config, root: Path, where: "_Origin") -> Iterable[str]:
    """Unreadable files of the user that runs would read."""
    matrices = [experiment.matrix for experiment in config.run().values()]
    used = {
        axis: {value for matrix in matrices for value in getattr(matrix, axis, ())}
        for axis in ("corpus", "tokens", "loader", "script")
    }
    for script in (config.scripts[name] for name in used["script"] & {*config.scripts}):
        used["corpus"].add(script.corpus)
        used["tokens"].add(script.tokens)
    for name, dataset in config.tokens.items():
        if name in used["tokens"] and dataset.path and (fault := inputs.dataset(dataset)):
            yield where("tokens", name, "path") + fault
    for name, corpus in config.corpora.items():
        if name not in used["corpus"]:
            continue
        if isinstance(corpus, FilesCorpus) and (fault := inputs.corpus(corpus)):
            yield where("corpora", name, "glob") + fault
        if corpus.tokenizer.path and (fault := inputs.tokenizer(corpus.tokenizer.path)):
            yield where("corpora", name, "tokenizer", "path") + fault
    for name, own in config.loaders.items():
        if name not in used["loader"]:
            continue
        if fault := inputs.module(own.module, ["make", "SHUFFLE"]):
            yield where("loaders", name, "module") + fault
        if own.data and (fault := inputs.unreadable(own.data)):
            yield where("loaders", name, "data") + fault
        formats = tokens.names_in(tokens.FORMATS, root)
        if not own.data and own.format not in formats:
            yield where("loaders", name, "format") + _none("format", own.format, formats)


def _unknown(
    at: str, noun: str, names: Iterable[str], known: Collection[str], place: str = "", without: Collection[str] = ()
) -> Iterable[str]:
    """Faults of names that are not known."""
    return (at + _none(noun, name, known, place) for name in names if name not in known and name not in without)


def _none(noun: str, wrong: str, allowed: Iterable[str], place: str = "") -> str:
    """An error for an unknown name, with the known ones."""
    return f"no {noun} {wrong!r}{place}" + _suggestion(wrong, allowed)


def _suggestion(wrong: str, allowed: Iterable[str]) -> str:
    names = sorted(allowed)
    listed = first_of(names, 20) or "none"
    return f"{did_you_mean(wrong, names)} (there {'is' if len(names) == 1 else 'are'}: {listed})"


def _lines(error: ValidationError, config: Mapping[str, Any], where: "_Origin") -> Iterable[str]:
    """pydantic's errors, one line per fault, with the keys as the user wrote them."""
    lines: dict[tuple[Any, ...], str] = {}
    faults = error.errors(include_url=False)
    written = [_as_written(fault["loc"], config) for fault in faults]
    parents = {tuple(key[:end]) for key in written for end in range(len(key))}
    for fault in faults:
        added = fault["type"] == "missing"
        key = _as_written(fault["loc"][: -1 if added else None], config)
        if fault["type"].endswith("_type") and tuple(key) in parents - {()}:
            continue  # another branch of the union fits, and its error is reported below
        if added:
            line = where(*key) + f"key {fault['loc'][-1]!r} is missing"
        elif fault["type"] == "extra_forbidden":
            line = where(*key, shown=-1) + f"unknown key {key[-1]!r}" + did_you_mean(str(key[-1]), _keys() - {key[-1]})
        elif fault["type"] == "union_tag_invalid":
            tag = fault["ctx"]["discriminator"].strip("'")
            line = where(*key, tag) + f"{fault['ctx']['tag']!r} is none of {fault['ctx']['expected_tags']}"
        elif fault["type"] == "union_tag_not_found":
            line = where(*key) + f"key {fault['ctx']['discriminator']} is missing"
        elif fault["type"] == "list_type" and isinstance(fault["input"], str | int | float):
            line = where(*key) + f"has to be a list, as [{_ECHO.repr(fault['input'])}]"
        else:
            line = where(*key) + fault["msg"].removeprefix("Value error, ")
            if not isinstance(fault["input"], dict) and not isinstance(
                fault.get("ctx", {}).get("error"), NotEchoedError
            ):
                line += f"; given: {_ECHO.repr(fault['input'])}"
        lines.setdefault(tuple(key), line)  # one line per key, even if several branches of a union reject it
    return lines.values()


def _as_written(location: Sequence[Any], config: Any) -> list[Any]:
    """A location of pydantic's without the names of union branches, which no file contains."""
    key = []
    for part in location:
        try:
            config = config[part]
        except (KeyError, IndexError, TypeError):
            continue
        key.append(part)
    return key


@functools.cache
def _keys() -> set[str]:
    """All keys that a config can have, at any place."""
    schema = Config.model_json_schema()
    return {key for part in (schema, *schema["$defs"].values()) for key in part.get("properties", ())}


class _Origin:
    """Finds where a key was last set: in which of the merged files, or on the command line."""

    def __init__(self, files: Sequence[Path | str], overrides: Mapping[str, Any]) -> None:
        self.contents: list[tuple[str, Mapping[str, Any]]] = [(str(file), content_of(file)) for file in files]
        self.last = self.contents[-1][0] if self.contents else ""
        self.contents += [("--config", overrides)] if overrides else []

    def __call__(self, *key: Any, shown: int | None = None) -> str:
        """The file of a key, and its first `shown` parts; by default all."""
        dotted = ".".join(map(str, key[:shown]))
        for length in range(len(key), 0, -1):
            for file, content in reversed(self.contents):
                if len(_as_written(key[:length], content)) == length:
                    return ", ".join(filter(None, [file, dotted])) + ": "
        return ", ".join(filter(None, [self.last, dotted])) + ": "
