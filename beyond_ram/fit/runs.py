"""The runs of a fit: those that are made, and how one is made."""

import hashlib
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..advice import advise
from ..files import end_of
from ..folders import fresh
from ..measure.plan import COMPLETED, Block, Member, Run, WantedError
from ..run_record import RunRecord
from ..text import last_line
from ..watch import LimitError, WatchOptions, watch, write_record
from .design import Point
from .factors import FactorPlan

OUTPUT = "output.txt"
# Share of free memory that small runs may use; the rest is for other programs.
_OF_FREE = 0.8


class RunError(RuntimeError):
    """A run that did not complete; the text is one line."""


@dataclass(frozen=True)
class FitRun:
    """The result of one run."""

    point: Point
    kept_bytes: float
    mapped_bytes: float
    """Room for mapped files, as `advice` gives it."""
    seconds: float
    free_bytes: float = 1 << 62
    """What programs could still take before it began."""
    outcome: str = COMPLETED


@dataclass
class FitRuns:
    """The runs that were asked for so far, of those that are made."""

    plan: FactorPlan
    made: Mapping[str, Run] = field(default_factory=dict)
    """By name, as in a campaign."""
    failed: str = ""
    """Why the next run failed."""
    answers: dict[Any, Any] = field(default_factory=dict)
    """The answers that are known, as a replay asks for them again."""
    done: dict[Point, FitRun] = field(default_factory=dict)
    seconds: float = 0.0
    """Seconds of all that were asked for."""
    wanted: tuple[Point, int | None] | None = None
    """The point and the limit of the run that is not made."""

    def get(self, point: Point, about: str = "") -> FitRun:
        """The run of a point. Raises WantedError where it is not made, RunError where it failed."""
        if point not in self.done:
            self.done[point] = self.make(point, about)
            self.seconds += self.done[point].seconds
        return self.done[point]

    def make(self, point: Point, about: str, limit_bytes: int | None = None) -> FitRun:
        """A run that is made, also one under a limit. Raises as `get` does."""
        name = name_of(self.plan, point, limit_bytes)
        if name in self.made:
            return FitRun(point, outcome=self.made[name].outcome, **self.made[name].values)
        if self.failed:
            raise RunError(self.failed)
        self.wanted = point, limit_bytes
        raise WantedError(Block(about, (Member(Path(self.plan.command[0]).name, name),), must=True))

    def seconds_at(self, size: int | None) -> float:
        """The longest run of a size, or of all if none has it."""
        times = [run.seconds for run in self.done.values() if run.point.size == size]
        return max(times or [run.seconds for run in self.done.values()])


def name_of(plan: FactorPlan, point: Point, limit_bytes: int | None = None) -> str:
    """A run in words: its values, which run of them, and its limit."""
    more = {"rep": point.repeat if point.repeat > 1 else None, "limit": limit_bytes}
    values = plan.values(point.setting, point.size) | {name: value for name, value in more.items() if value}
    return " ".join(f"{name}={value}" for name, value in values.items())


def once(plan: FactorPlan, folder: Path, point: Point, limit_bytes: int | None = None) -> FitRun:
    """Make a run in a folder: under its limit, or else under one that keeps the machine alive, where one can be set.

    Raises RunError where it failed, LimitError where its own limit cannot be set.
    """
    name, free = name_of(plan, point, limit_bytes), free_bytes()
    # A shell that becomes the program, so that its output is not mixed with the watcher's summary.
    words = ["sh", "-c", f'exec "$@" > {shlex.quote(str(folder / OUTPUT))} 2>&1', "sh",
             *plan.words(point.setting, point.size)]  # fmt: skip
    try:
        record = _watched(folder, words, limit_bytes or int(_OF_FREE * free))
    except LimitError:
        if limit_bytes:
            raise
        record = _watched(folder, words, None)
    killed, advice = _is_killed(record), advise(record)
    if killed and not limit_bytes:
        raise RunError(f"{name} needs more memory than is free here; leave out the value, or begin lower")
    if record["outcome"] != "completed" and not killed:
        status = record["signal"] or f"exit status {record['exit_status']}"
        wrote = last_line(end_of(folder / OUTPUT), "it wrote nothing")
        raise RunError(f"{name}: the program ended with {status}: {wrote}")
    if not killed and not advice.kept_bytes:
        raise RunError(f"{name}: ended before its memory could be read; begin with a larger size")
    if not killed and advice.at_least:
        raise RunError(f"{name}: its memory is known as a lower bound only: {'; '.join(advice.lower_bound)}")
    return FitRun(point, advice.kept_bytes, advice.mapped_bytes, record["duration_s"] or 0.0, free,
                  "killed_at_limit" if killed else COMPLETED)  # fmt: skip


def _is_killed(record: RunRecord) -> bool:
    """Whether a run ended for want of memory."""
    return bool(record["outcome"] == "killed_at_limit" or record.get("killed_for_memory"))


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
