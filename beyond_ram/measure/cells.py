"""Runs of the workflow's cells in one process: what is on disk is used again, all else is measured now."""

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..experiment import Cell, Job, records
from ..files import DamagedError, end_of
from ..metrics import Events, Record
from ..run_files import RUN_FILES
from ..text import last_line
from . import processes
from .cell import MeasuringError

Run = tuple[Record, Events]
How = Mapping[str, str]
"""How a cell is run: the `job` of one of its runs as JSON, `python`, `lock` and `code`."""


def read(runs: Path, cell: Cell, code: str, since: float) -> Run | None:
    """A run that is on disk, whole, of this code and lock, and not started before `since`; None without one."""
    try:
        record, events = records.run(runs / cell.path)
        records.samples_table(runs / cell.path, record)
    except DamagedError:
        return None
    same = record["provenance"].get("code_sha256") == code and (record.get("started_at") or since) >= since
    return (record, events) if same else None


def run(
    results: Path, cell: Cell, how: Callable[[Cell], How], since: float, begin: Callable[[], None]
) -> dict[Cell, Run]:
    """A run, with its rerun if it is interrupted: from disk, or measured as by its rule; then `begin` is called first.

    A program that fails is a result with its reason. Raises MeasuringError if the run was ended from outside, or could
    not begin.
    """
    states, runs = ("interrupted", "rerun"), results / "runs"
    made = [cell.replace(cache=state) for state in states] if cell.get("cache") in states else [cell]
    if not all(read(runs, one, how(one)["code"], since) for one in made):
        begin()
        _measure(results, [Job.model_validate_json(how(one)["job"]).but(path=one.path) for one in made], how(cell))
    return {one: records.run(runs / one.path) for one in made}


def call(results: Path, jobs: Sequence[Job], how: How) -> tuple[int, Path]:
    """Call `beyond-ram measure` for some jobs, as rules do; its exit status, and its log."""
    log = results / "logs" / f"{jobs[0].path}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    words = [sys.executable, "-m", "beyond_ram", "measure", f"--runs={results / 'runs'}"]
    words += [f"--work={results / 'private'}"]
    words += [f"--{name}={how[name]}" for name in ("python", "lock", "code") if name in how]
    words += [job.model_dump_json(exclude_defaults=True) for job in jobs]
    # The first run of a stack leaves its bytecode for the others, whatever the environment says.
    shell = f"unset PYTHONDONTWRITEBYTECODE; exec {shlex.join(words)} 2> {shlex.quote(str(log))}"
    return processes.run(["sh", "-c", shell])[0], log


def _measure(results: Path, jobs: Sequence[Job], how: How) -> None:
    for job in jobs:
        (results / "runs" / job.path / RUN_FILES[2]).unlink(missing_ok=True)
    status, log = call(results, jobs, how)
    if status:
        raise MeasuringError(last_line(end_of(log), processes.ending(status)))
