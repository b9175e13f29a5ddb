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

from .experiment import Cell, parse


@dataclass(frozen=True)
class Weighing:
    """A job that weighs a run, or an interrupted one and its rerun."""

    cells: tuple[Cell, ...]
    duration_s: float | None
    """Of the last time that it ran; None where it never did."""
    state: Literal["there", "left", "lost"]
    """Lost is a job that has failed, or that waits for one that has."""


def line(weighings: Sequence[Weighing], workload_of: Callable[[Cell], str], *, in_turn: bool, may_grow: bool) -> str:
    """What there is to say.

    A job that is left counts with the mean of what is known and most alike: itself, repeats of its cell, its
    experiment, its workload, any run. Only jobs that run `in_turn` have a sum of times that means anything.
    """
    runs = {state: _runs(job for job in weighings if job.state == state) for state in ("there", "left", "lost")}
    said = f"weighed {runs['there']} of {sum(runs.values())} runs"
    if runs["left"]:
        said += f"; {runs['left']} left"
        timed = [job for job in weighings if job.duration_s is not None]
        if in_turn and timed:
            said += f", {_about(_estimate(weighings, workload_of))} (estimated; timed so far: {_runs(timed)})"
    if may_grow:
        said += "; sweeps over versions may ask for more"
    if runs["lost"]:
        said += f"; {runs['lost']} cannot be weighed, since a job failed"
    return said


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


def _about(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 1:
        return "less than a minute"
    return f"about {minutes:.0f} min" if minutes < 100 else f"about {minutes / 60:.1f} h"


class Progress(logging.Handler):
    """Says the line after each weighed run, through Snakemake's own logger."""

    def __init__(self, workflow: Any, runs: str, slots: int, workload_of: Callable[[Cell], str]) -> None:
        """`runs` is the folder of all runs; a job that weighs takes so many `slots`."""
        super().__init__()
        self._workflow, self._runs, self._workload_of = workflow, Path(runs), workload_of
        given = workflow.global_resources.get("slots")
        self._in_turn = bool(workflow.local_exec and given and given.value == slots)
        self._started: dict[int, float] = {}
        self._finished: set[int] = set()
        self._known: dict[Any, tuple[tuple[Cell, ...], float | None]] = {}

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
        for job in dag.jobs:
            if dag.jobid(job) == number and self._records(job):
                self._known[job] = self._cells(job), time.monotonic() - self._started[number]
                self._say()

    def _say(self) -> None:
        dag = self._workflow.dag
        failed = [job for entry in self._workflow.scheduler.failed for job in (entry if entry.is_group() else [entry])]
        lost = set(dag.bfs(dag.depending, *failed))
        weighings = []
        for job in filter(self._records, dag.jobs):
            left = dag.needrun(job) and not dag.finished(job) and dag.jobid(job) not in self._finished
            if job not in self._known:
                self._known[job] = self._cells(job), self._duration_s(job)
            weighings.append(Weighing(*self._known[job], "lost" if job in lost else "left" if left else "there"))
        may_grow = any(dag.jobid(job) not in self._finished for job in dag.checkpoint_jobs)
        if self._finished or any(job.state == "left" for job in weighings):
            said = line(weighings, self._workload_of, in_turn=self._in_turn, may_grow=may_grow)
            logger.info(said, extra={"quietness": Quietness.PROGRESS})

    def _records(self, job: Any) -> list[Path]:
        """run.json of the runs that a job weighs."""
        files = map(Path, job.output)
        return [file for file in files if file.name == "run.json" and file.is_relative_to(self._runs)]

    def _cells(self, job: Any) -> tuple[Cell, ...]:
        return tuple(parse(record.parent.relative_to(self._runs).as_posix()) for record in self._records(job))

    def _duration_s(self, job: Any) -> float | None:
        """How long a job took in an earlier call, to its last file: Snakemake keeps it for every output."""
        kept = self._workflow.persistence.metadata(job.output[-1])
        if not kept or not kept.starttime or not kept.endtime or kept.endtime < kept.starttime:
            return None
        return float(kept.endtime - kept.starttime)
