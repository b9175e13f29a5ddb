"""Runs of the workflow's cells in one process: what is on disk is used again, all else is measured now."""

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..experiment import Cell, Job, parse
from ..files import DamagedError, end_of
from ..records import cell_runs
from ..records.run_files import RUN_FILES
from ..records.tables import RunFiles
from ..text import last_line
from . import processes
from .cell import MeasuringError
from .plan import Run

How = Mapping[str, str]
"""How a cell is run: the `job` of one of its runs as JSON, `python`, `lock` and `code`."""


def read(runs: Path, cell: Cell, code: str, since: float) -> RunFiles | None:
    """A run that is on disk, whole, of this code and lock, and not started before `since`; None without one."""
    try:
        record, events = cell_runs.run(runs / cell.path)
        cell_runs.samples_table(runs / cell.path, record)
    except DamagedError:
        return None
    same = record["provenance"].get("code_sha256") == code and (record.get("started_at") or since) >= since
    return (record, events) if same else None


def of_campaign(results: Path, run: Run, how: Callable[[Cell], How], since: float) -> dict[Cell, RunFiles]:
    """A run of a complete block, with its rerun if it is interrupted; empty unless the same run is on disk and counts.

    So a run of a block that was cut is made again, with the rest of its block.
    """
    cells = _made_together(parse(run.folder))
    made = {cell: one for cell in cells if (one := read(results / "runs", cell, how(cell)["code"], since))}
    began = {one[0].get("started_at") or 0.0 for cell, one in made.items() if cell.path == run.folder}
    return made if len(made) == len(cells) and began == {run.started_at} else {}


def measure(results: Path, cell: Cell, how: Callable[[Cell], How]) -> dict[Cell, RunFiles]:
    """Measure a run as by its rule, with its rerun if it is interrupted.

    A program that fails is a result with its reason. Raises MeasuringError if the run was ended from outside, or could
    not begin.
    """
    cells = _made_together(cell)
    for one in cells:
        (results / "runs" / one.path / RUN_FILES[2]).unlink(missing_ok=True)
    status, log = call(
        results, [Job.model_validate_json(how(one)["job"]).but(path=one.path) for one in cells], how(cell)
    )
    if status:
        raise MeasuringError(last_line(end_of(log), processes.ending(status)))
    return {one: cell_runs.run(results / "runs" / one.path) for one in cells}


def _made_together(cell: Cell) -> list[Cell]:
    states = ("interrupted", "rerun")
    return [cell.replace(cache=state) for state in states] if cell.get("cache") in states else [cell]


def call(results: Path, jobs: Sequence[Job], how: How) -> tuple[int, Path]:
    """Call `beyond-ram measure` for some jobs, as rules do; its exit status, and its log.

    It has its own process: in this one, six runs in turns read the same (205.5 MB, 0.69 s of processor time) and took
    1.4 s less each, but it would have to lend each run its standard error, signals and thread settings.
    """
    log = results / "logs" / f"{jobs[0].path}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    words = [sys.executable, "-m", "beyond_ram", "measure", f"--runs={results / 'runs'}"]
    words += [f"--work={results / 'private'}"]
    words += [f"--{name}={how[name]}" for name in ("python", "lock", "code") if name in how]
    words += [job.model_dump_json(exclude_defaults=True) for job in jobs]
    # The first run of a stack leaves its bytecode for the others, whatever the environment says.
    shell = f"unset PYTHONDONTWRITEBYTECODE; exec {shlex.join(words)} 2> {shlex.quote(str(log))}"
    return processes.run(["sh", "-c", shell])[0], log
