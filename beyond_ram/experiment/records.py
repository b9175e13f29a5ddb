"""The one place that reads and checks the files of a run."""

import csv
import itertools
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ..files import DamagedError
from ..run_files import COLUMNS, RUN_FILES
from ..text import plain
from .events import FIELDS, faults
from .grammar import parse
from .paths import Value
from .workloads import WORKLOADS

if TYPE_CHECKING:
    import pyarrow as pa

NO_RECORD = "no_record"
"""The outcome of a run that was asked for, and whose folder holds no record."""
# Earlier names of workloads, in kept runs.
RENAMED = {"ranks": "ddp"}
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
_MAYBE_TEXT, _MAYBE_MAP = (str, type(None)), (dict, type(None))
# What is read of a record's parts, where it is there; `*` stands for every part of a list or an object.
_DEEPER: dict[str, tuple[type, ...]] = {
    "workload": (str,),
    "reason": _MAYBE_TEXT,
    "work.ids_sha256": _MAYBE_TEXT,
    "work.requests": (dict,),
    "work.requests.*": (dict,),
    "work.requests.*.*": (int,),
    "work.endpoint": (dict,),
    "work.endpoint.*": (dict, list),
    "work.endpoint.epochs.*": (dict,),
    **{f"work.{name}": (*field.types, type(None)) for name, field in FIELDS.items()},
    **{f"work.{name}": _NUMBER for name in ("requests_failed", "in_flight_max", "data_in_flight_max")},
    "work.requests_before_first_batch": _NUMBER,
    "peak.hwm_bytes": _MAYBE_MAP,
    "peak.hwm_bytes.processes": (list,),
    "peak.hwm_bytes.processes.*": (dict,),
    **dict.fromkeys(("peak.kept", "peak.around"), _MAYBE_MAP),
    **dict.fromkeys(("peak.kept.at_kept", "attached", "attached.before"), (dict,)),
    **dict.fromkeys(("peak.kept.kept_bytes", "peak.kept.kept_sampled_bytes"), (int, float)),
    "page_cache": (dict,),
    "pressure": _MAYBE_MAP,
    "limit": (dict,),
    "limit.probes": (list,),
    "limit.probes.*": (dict,),
}
# What is a quantity by its name, and holds those of several processes.
_OF_MANY = {
    ".peak": ("hwm_bytes",),
    ".peak.held_by": ("rss_bytes", "anon_bytes", "pss_bytes"),
    "": ("worker_anon_bytes",),
}
_QUANTITIES = ("_bytes", "_s", "_ms")


def record(folder: Path, *, of_a_cell: bool = True) -> dict[str, Any]:
    """run.json of a run's folder. Raises DamagedError where it is cut, or is the record of something else.

    That of any command, which `beyond-ram watch` has weighed, is of no cell, and lies anywhere.
    """
    path = folder / _RECORD
    found = _json(_text(path), path)
    if not isinstance(found, dict):
        _refuse(path, f"no JSON object, but a {type(found).__name__}")
    for key, kind in _KEYS.items():
        if key not in found or not isinstance(found[key], kind):
            _refuse(path, f"{key!r} is {'of a wrong type' if key in found else 'missing'}")
    for key in ("versions", "allocator_settings", "thread_settings"):
        known = found["provenance"].get(key, {} if key == "thread_settings" else None)  # not in runs kept from before
        if not isinstance(known, dict):
            _refuse(path, f"'provenance.{key}' is missing, or no object")
    _check_quantities(found, path)
    for where, kinds in _DEEPER.items():
        if not _has_type(found, where.split("."), kinds):
            _refuse(path, f"'{where}' is of a wrong type")
    if not isinstance(found["sampler"].get("lines", 0), int):
        _refuse(path, "'sampler.lines' is no whole number")
    if of_a_cell and found["cell"] != (described := cell(folder)):
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
        if not is_number(event.get("t_s")):
            _refuse(path, f"line {number} has no time")
        if wrong := next(faults(event, strict=False), None):
            _refuse(path, f"line {number}: {plain(wrong, 200)}")
        _check_quantities(event, path, f"line {number}: ")
        found.append(event)
    # A cell that could not be run has no events.
    if whole and found and not any(event["event"] == "end" for event in found):
        _refuse(path, "cut: the event 'end' is missing")
    return found


def run(folder: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The record and the events of a run's folder, its cell with all axes of today. Raises DamagedError."""
    found, said = record(folder), events(folder)
    found["workload"] = workload(found)
    found["cell"] = of_today(found["cell"], found["workload"])
    if found["sampler"] and not said:
        _refuse(folder / _EVENTS, "empty, and the run was weighed")
    return found, said


def outcome(folder: Path, of: Mapping[str, Any] | None) -> dict[str, Any]:
    """The cell of a run that was asked for, and what became of it: `outcome`, `completed_work`, `reason`.

    `of` is its record with all axes of today; without one the outcome is `no_record`.
    """
    if of is None:
        return {**cell(folder), "outcome": NO_RECORD, "completed_work": False, "reason": ""}
    return {**of["cell"], **{key: of.get(key, "") for key in ("outcome", "completed_work", "reason")}}


def workload(record: Mapping[str, Any]) -> str:
    """The name of a run's workload today; kept runs may have an earlier name, or none, which was `tokenize`."""
    name = str(record.get("workload", "tokenize"))
    return RENAMED.get(name, name)


def of_today(cell: Mapping[str, Value], name: str) -> dict[str, Value]:
    """A cell of a workload with the axes that were not there yet when it was weighed, each as it was then."""
    if name not in WORKLOADS:
        return dict(cell)
    axes = {axis: value for axis, value in cell.items() if axis not in ("experiment", "rep")}
    return {"experiment": cell["experiment"], **WORKLOADS[name].points().whole(axes), "rep": cell["rep"]}


def samples(folder: Path, *, of_a_cell: bool = True) -> dict[str, list[float | str | None]]:
    """The samples of a run's folder, a list for each column, None where not sampled. Raises DamagedError."""
    path = folder / _SAMPLES
    head, *lines = _lines(path) or [""]
    columns = _columns(head, path)
    _counted(len(lines), record(folder, of_a_cell=of_a_cell), path)
    try:
        rows = [_row(values, columns, path, number) for number, values in enumerate(csv.reader(lines, strict=True), 2)]
    except csv.Error:
        _refuse(path, "no CSV")
    return {column: [row[place] for row in rows] for place, column in enumerate(columns)}


def samples_table(folder: Path, of: Mapping[str, Any]) -> "pa.Table":
    """The samples of a run's folder, all columns of today, as an Arrow table. `of` is its record, read before.

    Several times as fast as `samples`, which is asked where anything is not as usual. Raises DamagedError.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    path = folder / _SAMPLES
    schema = pa.schema([(name, pa.string() if name == "phase" else pa.float64()) for name in COLUMNS])
    try:
        text = path.read_bytes()
        _columns(text.partition(b"\n")[0].decode(), path)
        # What is quoted or cut is for the slow way, which knows what to say of it.
        if b'"' in text or not text.endswith(b"\n"):
            raise pa.ArrowInvalid
        found = arrow_csv.read_csv(
            pa.BufferReader(text),
            arrow_csv.ReadOptions(use_threads=False),
            arrow_csv.ParseOptions(ignore_empty_lines=False),
            arrow_csv.ConvertOptions(column_types=schema, null_values=[""], strings_can_be_null=True),
        )
    except (pa.ArrowInvalid, OSError, UnicodeDecodeError):
        found = pa.table(samples(folder))
    _counted(found.num_rows, of, path)
    for name in COLUMNS[found.num_columns :]:
        found = found.append_column(name, pa.nulls(found.num_rows))
    return found.cast(schema)


def _columns(head: str, path: Path) -> list[str]:
    """The columns that the first line of samples names: new ones come at the end, and older runs lack the last ones."""
    columns = head.split(",")
    if columns != COLUMNS[: len(columns)] or "written_bytes" not in columns:
        _refuse(path, "its first line does not name the columns of samples")
    return columns


def _counted(lines: int, of: Mapping[str, Any], path: Path) -> None:
    """Refuse samples that are not as many as the record says."""
    expected = of["sampler"].get("lines", lines)
    if lines != expected:
        _refuse(path, f"cut, or not this run's: {lines:,} lines, and run.json says {expected:,}")


def _row(values: list[str], columns: list[str], path: Path, number: int) -> list[float | str | None]:
    if len(values) != len(columns):
        _refuse(path, f"line {number} has {len(values)} values for {len(columns)} columns")
    try:
        row = [
            value or None if column == "phase" else float(value) if value else None
            for column, value in zip(columns, values, strict=True)
        ]
    except ValueError:
        row = [math.nan]
    if any(isinstance(value, float) and not math.isfinite(value) for value in row):
        _refuse(path, f"line {number} holds something that is no number")
    return row


def cell(folder: Path) -> dict[str, Value]:
    """The cell that a run's folder describes."""
    parts = folder.absolute().parts
    levels = len(list(itertools.takewhile(lambda part: "~" in part, reversed(parts))))
    try:
        return parse("/".join(parts[-levels - 1 :])).parameters()
    except ValueError:
        raise DamagedError(f"{folder}: not the folder of a run") from None


def _has_type(value: Any, where: list[str], kinds: tuple[type, ...]) -> bool:
    """Whether what is found at a place is of some type, or nothing is there."""
    if not where:
        return isinstance(value, kinds) and not (isinstance(value, bool) and bool not in kinds)
    if where[0] == "*":
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return all(_has_type(part, where[1:], kinds) for part in parts)
    return not isinstance(value, dict) or where[0] not in value or _has_type(value[where[0]], where[1:], kinds)


def _check_quantities(found: dict[str, Any], path: Path, where: str = "") -> None:
    for key, value in _quantities(found, ""):
        if value is not None and not is_number(value):
            _refuse(path, f"{where}'{plain(key[1:], 200)}' is no number")


def is_number(value: Any) -> bool:
    """Whether a value of JSON is a number that can be reckoned with."""
    try:
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:  # a whole number that no float can hold
        return False


def _quantities(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    """Every value of a record whose name says bytes or seconds, and its name."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if str(key).endswith(_QUANTITIES) and not (
                isinstance(inner, (dict, list)) and key in _OF_MANY.get(where, ())
            ):
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
