"""The runs of a fit: those that are made, and how one is made."""

import hashlib
import math
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..files import end_of
from ..folders import fresh
from ..measure.plan import COMPLETED, Block, Member, Run, WantedError
from ..memory_request import request_of
from ..records.run_json import RunRecord
from ..text import last_line
from ..units import duration
from ..watch import LimitError, WatchOptions, watch, write_record
from .factors import FactorPlan
from .small_runs import DesignPoint

OUTPUT, ERRORS = "output.txt", "errors.txt"
NUMBERS = ("kept_bytes", "mapped_bytes", "seconds", "free_bytes")
"""Numbers of a run that a campaign keeps, beside its wall time."""
# Share of free memory that small runs may use; the rest is for other programs.
_OF_FREE = 0.8


class RunError(RuntimeError):
    """A run that did not complete; the text is one line."""


class BudgetError(RunError):
    """A run that does not fit into the budget."""


@dataclass(frozen=True)
class FitRun:
    """The result of one run."""

    point: DesignPoint
    kept_bytes: float
    mapped_bytes: float
    """Room for mapped files, as `memory_request` gives it."""
    seconds: float
    wall_s: float = 0.0
    """Time of the call from the end of the run before it to its own."""
    free_bytes: float = 1 << 62
    """What programs could still take before it began."""
    outcome: str = COMPLETED


@dataclass
class FitRuns:
    """The runs that an answer rests on, of those that are made."""

    plan: FactorPlan
    made: Mapping[str, Run] = field(default_factory=dict)
    """By name, as in a campaign."""
    budget_s: float = math.inf
    """Wall time of all runs. The next one is wanted only if it may be expected to end within it."""
    confirm: bool = False
    """Whether a run at full size follows."""
    answers: dict[Any, Any] = field(default_factory=dict)
    """The answers that are known, as a replay asks for them again."""
    done: dict[DesignPoint, FitRun] = field(default_factory=dict)
    wanted: tuple[DesignPoint, int | None] | None = None
    """The point and the limit of the run that is not made."""

    @property
    def wall_s(self) -> float:
        """Wall time of all that the answer rests on."""
        return sum(run.wall_s for run in self.done.values())

    @property
    def left_s(self) -> float:
        """The seconds that are left of the budget. A confirming run at full size reserves its time, if it fits."""
        left_s, last_s = self.budget_s - self.wall_s, 0.0
        if self.confirm and self.done:
            largest, growth = max(self.done.values(), key=lambda run: run.point.size or 0), self.plan.growth
            last_s = largest.wall_s * (growth.target / (largest.point.size or 1) if growth else 1)
        return left_s - last_s if last_s <= left_s else left_s

    def get(self, point: DesignPoint, about: str = "") -> FitRun:
        """The run of a point. Raises WantedError where it is not made, RunError where it failed or does not fit."""
        if point not in self.done:
            longest_s = self.seconds_at(point.size) if self.done else 0.0
            self.done[point] = self.make(point, about, longest_s)
        return self.done[point]

    def make(self, point: DesignPoint, about: str, expected_s: float, limit_bytes: int | None = None) -> FitRun:
        """A run that is made, also one under a limit. Raises as `get` does."""
        name = name_of(self.plan, point, limit_bytes)
        if run := self.made.get(name):
            if run.reason:
                raise RunError(run.reason)
            return FitRun(point, outcome=run.outcome, **run.values)
        if self.done and self.wall_s + expected_s > self.budget_s:
            more = math.ceil((self.wall_s + expected_s) / 60)
            raise BudgetError(f"{name} may take {duration(expected_s)}, longer than is left: --budget {more} goes on")
        self.wanted = point, limit_bytes
        member = Member(Path(self.plan.command[0]).name, name)
        raise WantedError(Block(about, (member,), must=True))  # the budget was looked at above

    def seconds_at(self, size: int | None) -> float:
        """The longest run of a size; of one that was not run, twice the longest of all."""
        times = [run.wall_s for run in self.done.values() if run.point.size == size]
        return max(times) if times else 2 * max(run.wall_s for run in self.done.values())


def name_of(plan: FactorPlan, point: DesignPoint, limit_bytes: int | None = None) -> str:
    """A run in words: its values, which run of them, and its limit."""
    more = {"rep": point.repeat if point.repeat > 1 else None, "limit": limit_bytes}
    values = plan.values(point.setting, point.size) | {name: value for name, value in more.items() if value}
    return " ".join(f"{name}={value}" for name, value in values.items())


def once(plan: FactorPlan, folder: Path, point: DesignPoint, limit_bytes: int | None = None) -> FitRun:
    """Make a run in a folder: under its limit, or else under one that keeps the machine alive, where one can be set.

    Raises RunError where it failed, LimitError where its own limit cannot be set.
    """
    name, free = name_of(plan, point, limit_bytes), free_bytes()
    # A shell that becomes the program, so that its output is not mixed with the watcher's summary.
    output, errors = (shlex.quote(str(folder / file)) for file in (OUTPUT, ERRORS))
    words = ["sh", "-c", f'exec "$@" > {output} 2> {errors}', "sh",
             *plan.words(point.setting, point.size)]  # fmt: skip
    try:
        record = _watched(folder, words, limit_bytes or int(_OF_FREE * free))
    except LimitError:
        if limit_bytes:
            raise
        record = _watched(folder, words, None)
    request = request_of(record)
    killed = request.killed
    if killed and not limit_bytes:
        raise RunError(f"{name} needs more memory than is free here; leave out the value, or begin lower")
    if record["outcome"] != "completed" and not killed:
        status = record["signal"] or f"exit status {record['exit_status']}"
        wrote = last_line(end_of(folder / ERRORS), last_line(end_of(folder / OUTPUT), "it wrote nothing"))
        raise RunError(f"{name}: the program ended with {status}: {wrote}")
    if not killed and not request.kept_bytes:
        raise RunError(f"{name}: ended before its memory could be read; begin with a larger size")
    if not killed and request.at_least:
        raise RunError(f"{name}: its memory is known as a lower bound only: {'; '.join(request.lower_bound)}")
    outcome = "killed_at_limit" if killed else COMPLETED
    seconds = record["duration_s"] or 0.0
    return FitRun(point, request.kept_bytes, request.mapped_bytes, seconds, free_bytes=free, outcome=outcome)


def free_bytes() -> int:
    """The memory that programs can still take here."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))) << 10


def _watched(folder: Path, words: Sequence[str], limit_bytes: int | None) -> RunRecord:
    """Run a command below the watcher, and return its record. Raises LimitError."""
    fresh(folder)
    record = watch(words, folder, WatchOptions(memory_limit_bytes=limit_bytes))
    write_record(record, folder)
    return record


def files_digest(command: Sequence[str]) -> str:
    """A digest of the sizes and times of change of the files that a command names."""
    stats = [Path(word).stat() for word in command if os.path.isfile(word)]  # noqa: PTH113 (Path: not of long words)
    return hashlib.sha256(repr([(one.st_size, one.st_mtime_ns) for one in stats]).encode()).hexdigest()
