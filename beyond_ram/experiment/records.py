"""The one place that reads and checks the files of a run."""

import csv
import itertools
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from ..files import DamagedError
from ..run_files import COLUMNS, RUN_FILES
from ..text import plain
from .events import renamed
from .grammar import parse
from .paths import Value
from .workloads import WORKLOADS

NO_RECORD = "no_record"
"""The outcome of a run that was asked for, and whose folder holds no record."""
_SAMPLES, _EVENTS, _RECORD = RUN_FILES
_NUMBER = (int, float, type(None))
_KEYS: dict[str, type | tuple[type, ...]] = {
    "outcome": str,
    "completed_work": bool,
    "exit_status": (int, type(None)),
    "signal": (str, type(None)),
    "duration_s": _NUMBER,
    "cpu_s": _NUMBER,
    **dict.fromkeys(("cell", "provenance", "work", "peak", "sampler"), dict),
}
_QUANTITIES = ("_bytes", "_s", "_ms")


def record(folder: Path) -> dict[str, Any]:
    """run.json of a run's folder. Raises DamagedError where it is cut, or is the record of something else."""
    path = folder / _RECORD
    found = _json(_text(path), path)
    if not isinstance(found, dict):
        _refuse(path, f"no JSON object, but a {type(found).__name__}")
    for key, kind in _KEYS.items():
        if key not in found or not isinstance(found[key], kind):
            _refuse(path, f"{key!r} is {'of a wrong type' if key in found else 'missing'}")
    for key in ("versions", "allocator_settings"):
        if not isinstance(found["provenance"].get(key), dict):
            _refuse(path, f"'provenance.{key}' is missing, or no object")
    for where, value in _quantities(found, ""):
        if (
            isinstance(value, bool)
            or not isinstance(value, _NUMBER)
            or (value is not None and not math.isfinite(value))
        ):
            _refuse(path, f"'{plain(where[1:], 200)}' is no number")
    if found["cell"] != (described := cell(folder)):
        wrong = [key for key in {**found["cell"], **described} if found["cell"].get(key) != described.get(key)]
        _refuse(path, f"the record of another cell, by its {plain(', '.join(map(str, wrong)), 200)}")
    return found


def events(folder: Path, *, whole: bool = True) -> list[dict[str, Any]]:
    """The events of a run's folder; with `whole` the run has to have ended. Raises DamagedError."""
    path = folder / _EVENTS
    found = []
    for number, line in enumerate(_lines(path), 1):
        event = _json(line, path, number)
        if not isinstance(event, dict) or not isinstance(event.get("event"), str):
            _refuse(path, f"line {number} is no event")
        if isinstance(event.get("t_s"), bool) or not isinstance(event.get("t_s"), (int, float)):
            _refuse(path, f"line {number} has no time")
        found.append(renamed(event))
    # A cell that could not be run has no events.
    if whole and found and not any(event["event"] == "end" for event in found):
        _refuse(path, "cut: the event 'end' is missing")
    return found


def run(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The record and the events of a run's folder, its cell with all axes of today. Raises DamagedError."""
    found, said = record(folder), events(folder)
    found["cell"] = of_today(found["cell"], workload(found))
    if found["sampler"] and not said:
        _refuse(folder / _EVENTS, "empty, and the run was weighed")
    return found, said


def workload(record: Mapping[str, Any]) -> str:
    """The name of a run's workload."""
    return str(record.get("workload", "tokenize"))  # all there was, in runs kept from before


def of_today(cell: Mapping[str, Value], name: str) -> dict[str, Value]:
    """A cell of a workload with the axes that were not there yet when it was weighed, each as it was then."""
    if name not in WORKLOADS:
        return dict(cell)
    axes = {axis: value for axis, value in cell.items() if axis not in ("experiment", "rep")}
    return {"experiment": cell["experiment"], **WORKLOADS[name].points().whole(axes), "rep": cell["rep"]}


def samples(folder: Path) -> dict[str, list[float | str | None]]:
    """The samples of a run's folder, a list for each column, None where not sampled. Raises DamagedError."""
    path = folder / _SAMPLES
    head, *lines = _lines(path) or [""]
    columns = head.split(",")
    # New columns come at the end: older runs lack the last ones.
    if columns != COLUMNS[: len(columns)] or "written_bytes" not in columns:
        _refuse(path, "its first line does not name the columns of samples")
    expected = record(folder)["sampler"].get("lines", len(lines))
    if len(lines) != expected:
        _refuse(path, f"cut, or not this run's: {len(lines):,} lines, and run.json says {expected:,}")
    try:
        rows = [_row(values, columns, path, number) for number, values in enumerate(csv.reader(lines, strict=True), 2)]
    except csv.Error:
        _refuse(path, "no CSV")
    return {column: [row[place] for row in rows] for place, column in enumerate(columns)}


def _row(values: list[str], columns: list[str], path: Path, number: int) -> list[float | str | None]:
    if len(values) != len(columns):
        _refuse(path, f"line {number} has {len(values)} values for {len(columns)} columns")
    try:
        return [
            value or None if column == "phase" else float(value) if value else None
            for column, value in zip(columns, values, strict=True)
        ]
    except ValueError:
        _refuse(path, f"line {number} holds something that is no number")


def cell(folder: Path) -> dict[str, Value]:
    """The cell that a run's folder describes."""
    parts = folder.absolute().parts
    levels = len(list(itertools.takewhile(lambda part: "~" in part, reversed(parts))))
    try:
        return parse("/".join(parts[-levels - 1 :])).parameters()
    except ValueError:
        raise DamagedError(f"{folder}: not the folder of a run") from None


def _quantities(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    """Every value of a record whose name says bytes or seconds, and its name."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if str(key).endswith(_QUANTITIES) and not isinstance(inner, (dict, list)):
                yield f"{where}.{key}", inner
            else:
                yield from _quantities(inner, f"{where}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from _quantities(inner, where)


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except FileNotFoundError:
        _refuse(path, "missing")
    except UnicodeDecodeError:
        _refuse(path, "not UTF-8")


def _lines(path: Path) -> list[str]:
    """The lines of a file, every one of which ends with a line feed; no other character ends one."""
    *lines, rest = _text(path).split("\n")
    if rest:
        _refuse(path, f"cut in its last line, {len(lines) + 1}")
    return lines


def _json(text: str, path: Path, number: int | None = None) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        line = number or getattr(error, "lineno", 1)
        _refuse(path, "empty" if not text.strip() else f"no JSON, or cut, at line {line}")


def _refuse(path: Path, what: str) -> NoReturn:
    kept = "@" in "".join(part for part in path.parts if part.startswith("stack~"))
    what_to_do = (
        "it was kept from an older lock and cannot be made again: delete the folder, and take it out of kept.json"
        if kept
        else "delete the folder, and Snakemake makes it again"
    )
    raise DamagedError(f"{path}: {what}; {what_to_do}")
