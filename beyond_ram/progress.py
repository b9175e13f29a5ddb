"""How many runs are left to weigh, and about how long: said by the Snakemake that has planned them, in its own log."""

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

from snakemake.logging import logger
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.common import LogEvent

from .experiment import AXES, Cell, parse
from .terminal import Told, about

# How many times as long as counting took nothing is counted: a hundredth of the time at most goes into it.
_SILENT = 100


@dataclass(frozen=True)
class Weighing:
    """A job that weighs a run, or an interrupted one and its rerun."""

    cells: tuple[Cell, ...]
    duration_s: float | None
    """Of the last time that it ran; None where it never did."""
    state: Literal["there", "left", "lost"]
    """Lost is a job that has failed, or that waits for one that has."""


def told(
    weighings: Sequence[Weighing], workload_of: Callable[[Cell], str], *, in_turn: bool, may_grow: bool
) -> tuple[str, str]:
    """What there is to say, and the same in few words.

    A job that is left counts with the mean of what is known and most alike: itself, repeats of its cell, its
    experiment, its workload, any run. Only jobs that run `in_turn` have a sum of times that means anything.
    """
    runs = {state: _runs(job for job in weighings if job.state == state) for state in ("there", "left", "lost")}
    said = brief = f"weighed {runs['there']} of {sum(runs.values())} runs"
    if runs["left"]:
        said += f"; {runs['left']} left"
        timed = [job for job in weighings if job.duration_s is not None]
        if in_turn and timed:
            left = about(_estimate(weighings, workload_of))
            said += f", {left} (estimated; timed so far: {_runs(timed)})"
            brief += f", {left} left"
    if may_grow:
        said += "; later rounds may ask for more"
    if runs["lost"]:
        said += f"; {runs['lost']} cannot be weighed, since a job failed"
        brief += f", {runs['lost']} lost"
    return said, brief


def _runs(weighings: Iterable[Weighing]) -> int:
    return sum(len(job.cells) for job in weighings)


def _estimate(weighings: Sequence[Weighing], workload_of: Callable[[Cell], str]) -> float:
    """Seconds that the jobs which are left will take."""

    def kinds(job: Weighing) -> list[Hashable]:
        cell = job.cells[0]
        return [cell, (cell.experiment, cell.axes), cell.experiment, ("workload", workload_of(cell)), None]

    times = defaultdict(list)
    for job in weighings:
        if job.duration_s is not None:
            for kind in kinds(job):
                times[kind].append(job.duration_s)
    left = [job for job in weighings if job.state == "left"]
    return sum(fmean(next(times[kind] for kind in kinds(job) if kind in times)) for job in left)


def _varied(cells: Iterable[Cell]) -> dict[str, list[str]]:
    """The axes on which the cells of each experiment differ."""
    values: dict[str, dict[str, set[Any]]] = defaultdict(lambda: defaultdict(set))
    for cell in cells:
        for axis, value in cell.axes:
            values[cell.experiment][axis].add(value)
    return {name: [axis for axis, known in axes.items() if len(known) > 1] for name, axes in values.items()}


def end(workflow: Any, brief: str) -> None:
    """What was found, where a call has asked for a report: the lines of a file that is made with it."""
    if any(brief in map(str, job.output) for job in workflow.dag.jobs):
        logger.info(Path(brief).read_text(encoding="utf-8").rstrip(), extra={"quietness": Quietness.PROGRESS})


class Progress(logging.Handler):
    """Says the line after weighed runs, through Snakemake's own logger: after each, where there are not too many."""

    def __init__(self, workflow: Any, runs: str, slots: int, workload_of: Callable[[Cell], str]) -> None:
        """`runs` is the folder of all runs; a job that weighs takes so many `slots`."""
        super().__init__()
        self._workflow, self._runs, self._workload_of = workflow, Path(runs), workload_of
        given = workflow.global_resources.get("slots")
        self._in_turn = bool(workflow.local_exec and given and given.value == slots)
        self._started: dict[int, float] = {}
        self._finished: set[int] = set()
        self._known: dict[Any, tuple[tuple[Cell, ...], float | None]] = {}
        self._jobs: dict[int, Any] = {}
        self._left, self._silent_until = 0, 0.0
        self._varied: dict[str, list[str]] = {}

    def start(self) -> None:
        """Say how many there are to weigh, if any, and listen from now on."""
        logger.addHandler(self)
        self._say()

    def emit(self, record: logging.LogRecord) -> None:
        event = getattr(record, "event", None)
        try:
            if event == LogEvent.JOB_STARTED:
                self._started |= dict.fromkeys(vars(record)["jobs"], time.monotonic())
            elif event == LogEvent.JOB_FINISHED:
                self._finish(vars(record)["job_id"])
        except Exception:  # no line is worth a run
            self.handleError(record)

    def _finish(self, number: int) -> None:
        self._finished.add(number)  # Snakemake says so before it marks the job as finished
        dag = self._workflow.dag
        if number not in self._jobs:  # planned, or come by a checkpoint since
            self._jobs = {dag.jobid(job): job for job in dag.jobs}
        job = self._jobs[number]
        if self._records(job.output):
            self._known[job] = self._cells(job), time.monotonic() - self._started[number]
            self._left -= 1
            # To count ten thousand jobs after each of them would take longer than what is weighed.
            if self._left <= 0 or time.monotonic() >= self._silent_until:
                begun = time.monotonic()
                self._say()
                self._silent_until = time.monotonic() + _SILENT * (time.monotonic() - begun)

    def _say(self) -> None:
        dag = self._workflow.dag
        failed = [job for entry in self._workflow.scheduler.failed for job in (entry if entry.is_group() else [entry])]
        lost = set(dag.bfs(dag.depending, *failed))
        weighings = []
        for job in (job for job in dag.jobs if self._records(job.output)):
            left = dag.needrun(job) and not dag.finished(job) and dag.jobid(job) not in self._finished
            if job not in self._known:
                self._known[job] = self._cells(job), self._duration_s(job)
            weighings.append(Weighing(*self._known[job], "lost" if job in lost else "left" if left else "there"))
        self._left = sum(weighing.state == "left" for weighing in weighings)
        may_grow = any(dag.jobid(job) not in self._finished for job in dag.checkpoint_jobs)
        if self._finished or any(job.state == "left" for job in weighings):
            self._varied = _varied(cell for job in weighings for cell in job.cells)
            said, brief = told(weighings, self._workload_of, in_turn=self._in_turn, may_grow=may_grow)
            logger.info(said, extra={"quietness": Quietness.PROGRESS, "told": Told(brief, self._named)})

    def _named(self, outputs: Sequence[str]) -> str:
        """The cell of a job with these outputs, by the axes that differ within its experiment; empty for other jobs."""
        if not (records := self._records(outputs)):
            return ""
        cell = self._cell(records[0])
        values = [AXES[axis].describe(cell[axis]) for axis in self._varied.get(cell.experiment, ())]
        return f"{cell.experiment}: {', '.join([*filter(None, values), f'repeat {cell.rep}'])}"

    def _records(self, outputs: Iterable[str]) -> list[Path]:
        """run.json of the runs that a job with these outputs weighs."""
        files = map(Path, outputs)
        return [file for file in files if file.name == "run.json" and file.is_relative_to(self._runs)]

    def _cells(self, job: Any) -> tuple[Cell, ...]:
        return tuple(self._cell(record) for record in self._records(job.output))

    def _cell(self, record: Path) -> Cell:
        return parse(record.parent.relative_to(self._runs).as_posix())

    def _duration_s(self, job: Any) -> float | None:
        """How long a job took in an earlier call, to its last file: Snakemake keeps it for every output."""
        kept = self._workflow.persistence.metadata(job.output[-1])
        if not kept or not kept.starttime or not kept.endtime or kept.endtime < kept.starttime:
            return None
        return float(kept.endtime - kept.starttime)
