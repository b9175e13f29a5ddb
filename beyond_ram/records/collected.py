"""Collected runs: each run folder is read once, into files that tables and figures read.

There are two Parquet files per experiment with one row per run: its record, events and outcome, and its samples.
"""

import contextlib
import functools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ..files import DamagedError, whole
from . import cell_runs
from .run_files import COLUMNS
from .run_json import RunRecord

RunFiles = tuple[RunRecord, list[dict[str, Any]]]
# The metadata of such a file is `runs` or `samples`.
_KIND = b"beyond_ram.collected"
# Record, events and outcome are JSON, because their fields fit no fixed schema.
_RUNS = pa.schema([(name, pa.string()) for name in ("run", "outcome", "record", "events")], {_KIND: b"runs"})
_SAMPLES = pa.schema(
    [(name, pa.list_(pa.string() if name == "phase" else pa.float64())) for name in COLUMNS], {_KIND: b"samples"}
)
# Rows per row group; one group is in memory at a time.
RUNS_AT_A_TIME, SAMPLES_AT_A_TIME = 256, 32


def collect(run_jsons: Iterable[Path | str], runs: Path | str, samples: Path | str) -> None:
    """Read the folders of some runs once, and write two files, each atomically.

    Column `run` is the folder. A folder without a record is a planned run without a result, and has no samples. Raises
    DamagedError if a folder is not a run.
    """
    with (
        whole(runs) as to_runs,
        whole(samples) as to_samples,
        _Writer(to_runs, _RUNS, RUNS_AT_A_TIME) as of_runs,
        _Writer(to_samples, _SAMPLES, SAMPLES_AT_A_TIME) as of_samples,
    ):
        for run_json in map(Path, run_jsons):
            folder, record, events = run_json.parent, None, None
            columns = [pa.array([[]], one.type) for one in _SAMPLES]
            if run_json.exists():
                record, events = cell_runs.run(folder)
                read = cell_runs.samples_table(folder, record)
                columns = [pa.ListArray.from_arrays([0, len(read)], read[name].combine_chunks()) for name in COLUMNS]
            of_samples.add(pa.table(columns, _SAMPLES))
            values = (str(folder), *map(json.dumps, (cell_runs.outcome(folder, record), record, events)))
            of_runs.add(pa.table([[value] for value in values], _RUNS))


class _Writer:
    """Writes rows in groups."""

    def __init__(self, path: Path, schema: pa.Schema, at_a_time: int) -> None:
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")
        self._at_a_time, self._waiting = at_a_time, list[pa.Table]()

    def add(self, row: pa.Table) -> None:
        self._waiting.append(row)
        if len(self._waiting) == self._at_a_time:
            self._write()

    def _write(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.concat_tables(self._waiting))
        self._waiting = []

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is None:
            self._write()
        self._writer.close()


class Runs:
    """Records and events of the runs in some files, in order.

    Planned runs without a record are only counted, in `outcomes`. Runs are read again each time, a few row groups at a
    time, because ten thousand of them take a gigabyte. Raises DamagedError if a file is not such a file.
    """

    def __init__(self, files: Iterable[Path | str]) -> None:
        self._files = list(files)
        outcomes = list(map(_outcomes, self._files))
        self._planned = [
            (run, json.loads(outcome), file, number)
            for file, table in enumerate(outcomes)
            for number, (run, outcome) in enumerate(zip(*(column.to_pylist() for column in table), strict=True))
        ]
        self._lines = [line for line in self._planned if line[1]["outcome"] != cell_runs.NO_RECORD]
        self._group = functools.lru_cache(maxsize=16)(self._read_group)

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, place: int) -> RunFiles:
        _, _, file, number = self._lines[place]
        rows, row = self._group(file, number // RUNS_AT_A_TIME), number % RUNS_AT_A_TIME
        record, events = (json.loads(rows[name][row].as_py()) for name in ("record", "events"))
        return record, events

    def _read_group(self, file: int, group: int) -> pa.Table:
        with _opened(self._files[file], _RUNS) as opened:
            return opened.read_row_group(group, columns=["record", "events"])

    def outcomes(self) -> pd.DataFrame:
        """A line for each planned run: its cell, `outcome`, `completed_work`, `reason`.

        If its folder has no record, the outcome is `no_record`.
        """
        return pd.DataFrame([outcome for _, outcome, _, _ in self._planned])

    @property
    def folders(self) -> list[Path]:
        """The folder of each run."""
        return [Path(run) for run, *_ in self._lines]

    def at(self, place: int) -> tuple[int, int]:
        """The file of a run, and the run's row in it."""
        return self._lines[place][2:]


def _outcomes(file: Path | str) -> pa.Table:
    with _opened(file, _RUNS) as opened:
        return opened.read(["run", "outcome"])


class Samples:
    """The samples of runs, from the files beside those of `runs`. Raises DamagedError for other files.

    A row group has the samples of neighbouring runs too, which are usually read next.
    """

    def __init__(self, files: Iterable[Path | str], runs: Runs) -> None:
        self._files, self._runs = list(files), runs
        self._group = functools.lru_cache(maxsize=2)(self._read_group)

    def lists(self, place: int) -> dict[str, list[Any]]:
        """The samples of a run as one list per column; None if not sampled."""
        file, number = self._runs.at(place)
        rows, row = self._group(file, number // SAMPLES_AT_A_TIME), number % SAMPLES_AT_A_TIME
        return {name: rows[name][row].as_py() for name in COLUMNS}

    def of(self, place: int) -> pd.DataFrame:
        """The samples of a run, one per line; NaN if not sampled."""
        columns = self.lists(place)
        return pd.DataFrame(columns).astype({name: float for name in columns if name != "phase"})

    def _read_group(self, file: int, group: int) -> pa.Table:
        with _opened(self._files[file], _SAMPLES) as opened:
            return opened.read_row_group(group)


@contextlib.contextmanager
def _opened(path: Path | str, schema: pa.Schema) -> Iterator[pq.ParquetFile]:
    """A Parquet file with a schema. Raises DamagedError if it is truncated or has another schema."""
    kind = schema.metadata[_KIND]
    why = f"holds no {kind.decode()} that were collected"
    try:
        with pq.ParquetFile(path) as opened:
            if (opened.schema_arrow.metadata or {}).get(_KIND) == kind:
                yield opened
                return
    except (pa.ArrowException, OSError, ValueError) as error:
        why = "missing" if isinstance(error, FileNotFoundError) else "cut, or no Parquet file"
    raise DamagedError(f"{path}: {why}; delete it, and Snakemake makes it again")
