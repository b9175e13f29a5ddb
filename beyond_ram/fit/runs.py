"""The runs of a fit, each watched in its own folder, which later calls use again."""

import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import mask_secrets
from ..advice import advise
from ..files import end_of, read_json
from ..folders import fresh
from ..run_files import RUN_FILES
from ..text import last_line
from ..watch import LimitError, WatchOptions, watch, write_record
from .design import Point
from .factors import FactorPlan

OUTPUT = "output.txt"
# Share of free memory that small runs may use; the rest is for other programs.
_OF_FREE = 0.8
_FILES = "command_files"
_LIMITED = "confirmed"
"""The folder of runs under the memory that is asked for."""


class RunError(RuntimeError):
    """A run that did not complete; the text is one line."""


@dataclass(frozen=True)
class FitRun:
    """The result of one run."""

    point: Point
    kept_bytes: int
    mapped_bytes: int
    """Room for mapped files, as `advice` gives it."""
    seconds: float
    outcome: str = "completed"


@dataclass
class FitRuns:
    """Runs of a plan, kept below a folder."""

    plan: FactorPlan
    out: Path
    tell: Callable[[str], None] = lambda line: None
    seconds: float = 0.0
    """Seconds of all runs so far, with those of earlier calls."""
    done: dict[Point, FitRun] = field(default_factory=dict)
    used_again: int = 0
    """Runs of earlier calls among them."""

    def get(self, point: Point, about: str = "") -> FitRun:
        """The run of a point, from the folder or made now. Raises RunError, ForeignFolderError."""
        if point not in self.done:
            name = self.name(point)
            self.tell(f"{about}{name}")
            run = self.made(point, name)
            if run.outcome != "completed":
                raise RunError(f"{name} needs more memory than is free here; leave out the value, or begin lower")
            self.done[point] = run
            self.seconds += run.seconds
        return self.done[point]

    def seconds_at(self, size: int | None) -> float:
        """The longest run of a size, or of all if none has it."""
        times = [run.seconds for run in self.done.values() if run.point.size == size]
        return max(times or [run.seconds for run in self.done.values()])

    def limited(self, point: Point, limit_bytes: int) -> FitRun:
        """The run of a point under a memory limit of the kernel. Raises LimitError where none can be set."""
        self.tell(f"under a limit of {limit_bytes / 1e6:,.0f} MB: {self.name(point)}")
        return self._run(point, self.name(point), _LIMITED, limit_bytes)

    def name(self, point: Point) -> str:
        values = self.plan.values(point.setting, point.size)
        repeat = [f"rep={point.repeat}"] if point.repeat > 1 else []
        return " ".join([*(f"{name}={value}" for name, value in values.items()), *repeat])

    def made(self, point: Point, name: str) -> FitRun:
        """A run under a limit that keeps the machine alive, where one can be set."""
        try:
            return self._run(point, name, "runs", int(_OF_FREE * self.free_bytes()))
        except LimitError:
            return self._run(point, name, "runs", None)

    def free_bytes(self) -> int:
        """The memory that programs can still take here."""
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(line.split()[1] for line in lines if line.startswith("MemAvailable:"))
        return int(free) << 10

    def _run(self, point: Point, name: str, kind: str, limit_bytes: int | None) -> FitRun:
        folder = self.out / kind / name.replace(" ", ",")
        words = self.plan.words(point.setting, point.size)
        # A shell that becomes the program, so that its output is not mixed with the watcher's summary.
        words = ["sh", "-c", f'exec "$@" > {shlex.quote(str(folder / OUTPUT))} 2>&1', "sh", *words]
        record = _kept(folder, words, self.out)
        if record and kind == _LIMITED and record["memory_limit_bytes"] > limit_bytes:
            record = None  # an earlier call allowed more
        if record:
            self.used_again += 1
        else:
            record = _watched(folder, words, limit_bytes)
        if record["signal"] and not _killed(record):
            # Native threads that outlive the interpreter abort a program now and then (apache/arrow#34314).
            self.tell(f"{name} ended with {record['signal']}: once more")
            record = _watched(folder, words, limit_bytes)
        return self._read(record, point, name, folder)

    def _read(self, record: dict[str, Any], point: Point, name: str, folder: Path) -> FitRun:
        killed = _killed(record)
        if record["outcome"] != "completed" and not killed:
            status = record["signal"] or f"exit status {record['exit_status']}"
            wrote = last_line(end_of(folder / OUTPUT), "it wrote nothing")
            raise RunError(f"{name}: the program ended with {status}: {wrote}")
        advice = advise(record)
        if not killed and not advice.kept_bytes:
            raise RunError(f"{name}: ended before its memory could be read; begin with a larger size")
        if not killed and advice.at_least:
            raise RunError(f"{name}: its memory is known as a lower bound only: {'; '.join(advice.lower_bound)}")
        outcome = "killed_at_limit" if killed else "completed"
        return FitRun(point, advice.kept_bytes, advice.mapped_bytes, float(record["duration_s"]), outcome)


def _killed(record: dict[str, Any]) -> bool:
    """Whether a run ended for want of memory."""
    return bool(record["outcome"] == "killed_at_limit" or record.get("killed_for_memory"))


def _kept(folder: Path, words: Sequence[str], out: Path) -> dict[str, Any] | None:
    """The record of an earlier run that completed, if the files that the command names are as they were then.

    None if secrets were masked, as the command may have been another.

    Raises ValueError if it is of another command.
    """
    try:
        record: dict[str, Any] = read_json(folder / RUN_FILES[2], "outcome", "command", "peak")
    except ValueError:
        return None
    if record["command"] != mask_secrets.in_command(words):
        raise ValueError(f"{out} has runs of another command; name another --out, or remove it")
    masked = any(mask_secrets.MASK in word for word in record["command"])
    same = record.get(_FILES) == _files(words) and not masked
    return record if record["outcome"] == "completed" and same else None


def _files(words: Sequence[str]) -> list[list[int]]:
    """Size and time of change of the files that a command names. Only numbers: a word may be a secret."""
    stats = [Path(word).stat() for word in words if os.path.isfile(word)]  # noqa: PTH113 (Path: not of long words)
    return [[one.st_size, one.st_mtime_ns] for one in stats]


def _watched(folder: Path, words: Sequence[str], limit_bytes: int | None) -> dict[str, Any]:
    """Run a command below the watcher, and return its record. Raises LimitError."""
    fresh(folder)
    files = _files(words)
    record = watch(words, folder, WatchOptions(memory_limit_bytes=limit_bytes)) | {_FILES: files}
    write_record(record, folder)
    return record
