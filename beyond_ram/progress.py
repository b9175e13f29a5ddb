"""Progress messages: number of runs that are left, and the estimated time. Logged by the main Snakemake process."""

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
from .terminal import Status, about

# Counting takes at most a hundredth of the time: after a count, wait this many times as long as it took.
_REST = 100


@dataclass(frozen=True)
class Weighing:
    """A job that measures a run, or an interrupted run and its rerun."""

    cells: tuple[Cell, ...]
    duration_s: float | None
    """Duration of its last execution; None if it never ran."""
    state: Literal["done", "left", "lost"]
    """A lost job has failed, or depends on one that has."""


def messages(
    weighings: Sequence[Weighing], workload_of: Callable[[Cell], str], *, in_turn: bool, may_grow: bool
) -> tuple[str, str]:
    """A full and a brief message.

    The time of a job that is left is the mean time of the most similar jobs that ran: itself, repeats of its cell, its
    experiment, its workload, any run. Times are summed only for jobs that run `in_turn`.
    """
    runs = {state: _runs(job for job in weighings if job.state == state) for state in ("done", "left", "lost")}
    message = brief = f"weighed {runs['done']} of {sum(runs.values())} runs"
    if runs["left"]:
        message += f"; {runs['left']} left"
        timed = [job for job in weighings if job.duration_s is not None]
        if in_turn and timed:
            left = about(_estimate(weighings, workload_of))
            message += f", {left} (estimated; timed so far: {_runs(timed)})"
            brief += f", {left} left"
    if may_grow:
        message += "; later rounds may ask for more"
    if runs["lost"]:
        message += f"; {runs['lost']} cannot be weighed, because a job failed"
        brief += f", {runs['lost']} lost"
    return message, brief


def _runs(weighings: Iterable[Weighing]) -> int:
    return sum(len(job.cells) for job in weighings)


def _estimate(weighings: Sequence[Weighing], workload_of: Callable[[Cell], str]) -> float:
    """Seconds that the remaining jobs will take."""

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
    return {name: [axis for axis, used in axes.items() if len(used) > 1] for name, axes in values.items()}


def end(workflow: Any, brief: str) -> None:
    """If the call made a report, log its findings: the lines of file `brief`."""
    if any(brief in map(str, job.output) for job in workflow.dag.jobs):
        logger.info(Path(brief).read_text(encoding="utf-8").rstrip(), extra={"quietness": Quietness.PROGRESS})


class Progress(logging.Handler):
    """Logs progress through Snakemake's logger after each measured run, or less often if there are many runs."""

    def __init__(self, workflow: Any, runs: str, slots: int, workload_of: Callable[[Cell], str]) -> None:
        """`runs` is the folder of all runs; a measuring job takes `slots` slots."""
        super().__init__()
        self._workflow, self._runs, self._workload_of = workflow, Path(runs), workload_of
        slot_limit = workflow.global_resources.get("slots")
        self._in_turn = bool(workflow.local_exec and slot_limit and slot_limit.value == slots)
        self._started: dict[int, float] = {}
        self._finished: set[int] = set()
        self._weighings: dict[Any, tuple[tuple[Cell, ...], float | None]] = {}
        self._jobs: dict[int, Any] = {}
        self._left, self._rest_until = 0, 0.0
        self._varied: dict[str, list[str]] = {}

    def start(self) -> None:
        """Log how many runs are to be measured, if any, and listen to events."""
        logger.addHandler(self)
        self._say()

    def emit(self, record: logging.LogRecord) -> None:
        event = getattr(record, "event", None)
        try:
            if event == LogEvent.JOB_STARTED:
                self._started |= dict.fromkeys(vars(record)["jobs"], time.monotonic())
            elif event == LogEvent.JOB_FINISHED:
                self._finish(vars(record)["job_id"])
        except Exception:  # an error in a message must not end a run
            self.handleError(record)

    def _finish(self, number: int) -> None:
        self._finished.add(number)  # Snakemake logs this before it marks the job as finished
        dag = self._workflow.dag
        if number not in self._jobs:  # at the start, or after a checkpoint
            self._jobs = {dag.jobid(job): job for job in dag.jobs}
        job = self._jobs[number]
        if self._records(job.output):
            self._weighings[job] = self._cells(job), time.monotonic() - self._started[number]
            self._left -= 1
            # Counting ten thousand jobs after each of them would take longer than the runs.
            if self._left <= 0 or time.monotonic() >= self._rest_until:
                begun = time.monotonic()
                self._say()
                self._rest_until = time.monotonic() + _REST * (time.monotonic() - begun)

    def _say(self) -> None:
        dag = self._workflow.dag
        failed = [job for entry in self._workflow.scheduler.failed for job in (entry if entry.is_group() else [entry])]
        lost = set(dag.bfs(dag.depending, *failed))
        weighings = []
        for job in (job for job in dag.jobs if self._records(job.output)):
            left = dag.needrun(job) and not dag.finished(job) and dag.jobid(job) not in self._finished
            if job not in self._weighings:
                self._weighings[job] = self._cells(job), self._duration_s(job)
            weighings.append(Weighing(*self._weighings[job], "lost" if job in lost else "left" if left else "done"))
        self._left = sum(weighing.state == "left" for weighing in weighings)
        may_grow = any(dag.jobid(job) not in self._finished for job in dag.checkpoint_jobs)
        if self._finished or any(job.state == "left" for job in weighings):
            self._varied = _varied(cell for job in weighings for cell in job.cells)
            message, brief = messages(weighings, self._workload_of, in_turn=self._in_turn, may_grow=may_grow)
            logger.info(message, extra={"quietness": Quietness.PROGRESS, "status": Status(brief, self._named)})

    def _named(self, outputs: Sequence[str]) -> str:
        """The cell of a job with these outputs, by the axes that differ within its experiment; empty for other jobs."""
        if not (records := self._records(outputs)):
            return ""
        cell = self._cell(records[0])
        values = [AXES[axis].describe(cell[axis]) for axis in self._varied.get(cell.experiment, ())]
        return f"{cell.experiment}: {', '.join([*filter(None, values), f'repeat {cell.rep}'])}"

    def _records(self, outputs: Iterable[str]) -> list[Path]:
        """run.json of the runs that a job with these outputs measures."""
        files = map(Path, outputs)
        return [file for file in files if file.name == "run.json" and file.is_relative_to(self._runs)]

    def _cells(self, job: Any) -> tuple[Cell, ...]:
        return tuple(self._cell(record) for record in self._records(job.output))

    def _cell(self, record: Path) -> Cell:
        return parse(record.parent.relative_to(self._runs).as_posix())

    def _duration_s(self, job: Any) -> float | None:
        """Duration of a job in an earlier call, from Snakemake's records of its last output."""
        kept = self._workflow.persistence.metadata(job.output[-1])
        if not kept or not kept.starttime or not kept.endtime or kept.endtime < kept.starttime:
            return None
        return float(kept.endtime - kept.starttime)
