"""Read and check the files of a run's folder: for `show`, the page of a run, and code that works with cells.

Standard library only, because a training environment has nothing else.
"""

import csv
import json
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn, cast

from ..files import DamagedError
from ..text import plain
from . import run_json
from .run_files import COLUMNS, RUN_FILES
from .run_json import RunRecord

_SAMPLES, _EVENTS, _RECORD = RUN_FILES
# Fields of events with the values of several processes, and endings of quantities.
_OF_MANY = ("worker_anon_bytes",)
_QUANTITIES = ("_bytes", "_s", "_ms")


def record(folder: Path) -> RunRecord:
    """Read run.json of a run's folder and check its types. Raises DamagedError if it is cut or of another kind."""
    path = folder / _RECORD
    content = json_of(text_of(path), path)
    if not isinstance(content, dict):
        refuse(path, f"no JSON object, but a {type(content).__name__}")
    if wrong := run_json.fault(content):
        refuse(path, wrong)
    return cast(RunRecord, content)


def events(
    folder: Path,
    *,
    whole: bool = True,
    faults: Callable[[dict[str, Any]], Iterator[str]] | None = None,
) -> list[dict[str, Any]]:
    """The events of a run's folder. With `whole`, the run must have ended. Raises DamagedError.

    `faults` returns what is wrong with an event.
    """
    path = folder / _EVENTS
    listed = []
    for number, line in enumerate(lines_of(path), 1):
        event = json_of(line, path, number)
        if not isinstance(event, dict) or not isinstance(event.get("event"), str):
            refuse(path, f"line {number} is no event")
        if not is_number(event.get("t_s")):
            refuse(path, f"line {number} has no time")
        if faults and (wrong := next(faults(event), None)):
            refuse(path, f"line {number}: {plain(wrong, 200)}")
        check_quantities(event, path, f"line {number}: ")
        listed.append(event)
    # A cell that could not run has no events.
    if whole and listed and not any(event["event"] == "end" for event in listed):
        refuse(path, "cut: the event 'end' is missing")
    return listed


def samples(folder: Path, of: Mapping[str, Any]) -> dict[str, list[float | str | None]]:
    """The samples of a run's folder as one list per column, None if not sampled. `of` is its record. Raises
    DamagedError."""
    path = folder / _SAMPLES
    head, *lines = lines_of(path) or [""]
    check_columns(head, path)
    check_count(len(lines), of, path)
    try:
        rows = [_row(values, path, number) for number, values in enumerate(csv.reader(lines, strict=True), 2)]
    except csv.Error:
        refuse(path, "no CSV")
    return {column: [row[place] for row in rows] for place, column in enumerate(COLUMNS)}


def check_columns(head: str, path: Path) -> None:
    """Raise DamagedError unless the header of the samples names their columns."""
    if head.split(",") != COLUMNS:
        refuse(path, "its first line does not name the columns of samples")


def check_count(lines: int, of: Mapping[str, Any], path: Path) -> None:
    """Raise DamagedError if the number of samples differs from the record."""
    expected = of["sampler"].get("lines", lines)
    if lines != expected:
        refuse(path, f"cut, or not this run's: {lines:,} lines, and run.json says {expected:,}")


def _row(values: list[str], path: Path, number: int) -> list[float | str | None]:
    if len(values) != len(COLUMNS):
        refuse(path, f"line {number} has {len(values)} values for {len(COLUMNS)} columns")
    try:
        row = [
            value or None if column == "phase" else float(value) if value else None
            for column, value in zip(COLUMNS, values, strict=True)
        ]
    except ValueError:
        row = [math.nan]
    if any(isinstance(value, float) and not math.isfinite(value) for value in row):
        refuse(path, f"line {number} holds something that is no number")
    return row


def check_quantities(content: dict[str, Any], path: Path, where: str = "") -> None:
    for key, value in _quantities(content, ""):
        if value is not None and not is_number(value):
            refuse(path, f"{where}'{plain(key[1:], 200)}' is no number")


def is_number(value: Any) -> bool:
    """Whether a JSON value is a number that fits a float."""
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:  # an integer too large for a float
        return False


def _quantities(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    """Every value of a record whose name ends in bytes or seconds, with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if str(key).endswith(_QUANTITIES) and not (
                isinstance(inner, (dict, list)) and key in _OF_MANY and not where
            ):
                yield f"{where}.{key}", inner
            else:
                yield from _quantities(inner, f"{where}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from _quantities(inner, where)


def text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except (FileNotFoundError, NotADirectoryError):
        refuse(path, "missing")
    except UnicodeDecodeError:
        refuse(path, "not UTF-8")


def lines_of(path: Path) -> list[str]:
    """The lines of a file. Each must end with a line feed; no other character ends a line."""
    *lines, rest = text_of(path).split("\n")
    if rest:
        refuse(path, f"cut in its last line, {len(lines) + 1}")
    return lines


def json_of(text: str, path: Path, number: int | None = None) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        line = number or getattr(error, "lineno", 1)
        refuse(path, "empty" if not text.strip() else f"no JSON, or cut, at line {line}")


def refuse(path: Path, what: str) -> NoReturn:
    raise DamagedError(f"{path}: {what}; delete the folder, and run it again")
