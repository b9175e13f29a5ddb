"""Read and check the runs of cells. `reading` reads the files; other code reads runs through this module."""

import functools
import hashlib
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..experiment.events import faults
from ..experiment.grammar import parse
from ..experiment.paths import Value
from ..files import DamagedError
from ..text import plain
from . import reading
from .run_files import COLUMNS, RUN_FILES
from .run_json import RunRecord

if TYPE_CHECKING:
    import pyarrow as pa

NO_RECORD = "no_record"
"""The outcome of a requested run without a record."""
_SAMPLES, _EVENTS, _RECORD = RUN_FILES


def record(folder: Path) -> RunRecord:
    """Read run.json of a run's folder. Raises DamagedError if it is truncated, of another kind, or of another cell."""
    path = folder / _RECORD
    content = reading.record(folder)
    if "workload" not in content:
        reading.refuse(path, "'workload' is missing")
    if content["completed_work"] is None:
        reading.refuse(path, "'completed_work' is neither true nor false")
    if content["cell"] != (described := cell(folder)):
        wrong = [key for key in {**content["cell"], **described} if content["cell"].get(key) != described.get(key)]
        what = f"the record of another cell, by its {plain(', '.join(map(str, wrong)), 200)}"
        reading.refuse(path, what)
    return content


def events(folder: Path) -> list[dict[str, Any]]:
    """The events of a run's folder, which has ended. Raises DamagedError."""
    return reading.events(folder, faults=functools.partial(faults, strict=False))


def run(folder: Path) -> tuple[RunRecord, list[dict[str, Any]]]:
    """The record and the events of a run's folder. Raises DamagedError."""
    content, run_events = record(folder), events(folder)
    digest = content["provenance"].get("events_sha256")
    if digest and hashlib.sha256((folder / _EVENTS).read_bytes()).hexdigest() != digest:
        reading.refuse(folder / _EVENTS, "edited, or not this run's")
    if content["sampler"] and not run_events:
        reading.refuse(folder / _EVENTS, "empty, but the run was measured")
    return content, run_events


def outcome(folder: Path, of: Mapping[str, Any] | None) -> dict[str, Any]:
    """The cell of a requested run with `outcome`, `completed_work` and `reason`.

    `of` is its record; without one the outcome is `no_record`.
    """
    if of is None:
        return {**cell(folder), "outcome": NO_RECORD, "completed_work": False, "reason": ""}
    return {**of["cell"], **{key: of.get(key, "") for key in ("outcome", "completed_work", "reason")}}


def samples(folder: Path) -> dict[str, list[float | str | None]]:
    """The samples of a run's folder, a list for each column, None where not sampled. Raises DamagedError."""
    return reading.samples(folder, record(folder))


def samples_table(folder: Path, of: Mapping[str, Any]) -> "pa.Table":
    """The samples of a run's folder, all current columns, as an Arrow table. `of` is its record, read before.

    Several times as fast as `samples`, which it calls for unusual files. Raises DamagedError.
    """
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    path = folder / _SAMPLES
    schema = pa.schema([(name, pa.string() if name == "phase" else pa.float64()) for name in COLUMNS])
    try:
        text = path.read_bytes()
        reading.check_columns(text.partition(b"\n")[0].decode(), path)
        # Quoted or incomplete lines take the slow way, which reports errors.
        if b'"' in text or not text.endswith(b"\n"):
            raise pa.ArrowInvalid
        table = arrow_csv.read_csv(
            pa.BufferReader(text),
            arrow_csv.ReadOptions(use_threads=False),
            arrow_csv.ParseOptions(ignore_empty_lines=False),
            arrow_csv.ConvertOptions(column_types=schema, null_values=[""], strings_can_be_null=True),
        )
    except (pa.ArrowInvalid, OSError, UnicodeDecodeError):
        table = pa.table(samples(folder))
    reading.check_count(table.num_rows, of, path)
    return table.cast(schema)


def cell(folder: Path) -> dict[str, Value]:
    """The cell that a run's folder describes. Raises DamagedError for another folder."""
    parts = folder.absolute().parts
    levels = len(list(itertools.takewhile(lambda part: "~" in part, reversed(parts))))
    try:
        return parse("/".join(parts[-levels - 1 :])).parameters()
    except ValueError:
        raise DamagedError(f"{folder}: not the folder of a run") from None
