"""The reader of processes: /proc, or psutil if /proc is limited or missing.

`unknown` lists what a reader never knows: such columns are empty and such peaks null, never 0.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from . import procfs

if TYPE_CHECKING:
    from .tree import Process

HWM, FAULTS = "hwm_bytes", ("minor_faults", "major_faults")
NAMES = ("procfs", "psutil")
# Maximum number of descriptors kept open; others are opened for each reading.
_KEPT_OPEN = 384
_NO_ROOM = procfs.NO_ROOM


class Reader:
    """Reads processes from /proc, with the files of followed processes kept open. `Psutil` does the same without it.

    Rereading an open file saves the path look-up, and the descriptor stays with its process even if the kernel reuses
    the process id. Methods return None for a process that has ended or is unreadable.
    """

    name, why = "procfs", ""
    """`why`: why this reader was chosen."""
    unknown: frozenset[str] = frozenset()
    """Columns of samples.csv that it never knows; `hwm_bytes` if it has no high-water marks."""

    def __init__(self, lacks: str | None = None) -> None:
        """`lacks` names what no reader can read here."""
        self._lacks = lacks
        self._opened_by: dict[int, Process] = {}
        self._open, self._kept_open = 0, _KEPT_OPEN

    def why_not(self) -> str | None:
        """Why processes cannot be read here; None if they can."""
        return procfs.why_not() or self._lacks

    def descendants(self, pid: int, unlisted: set[int] | None = None) -> list[int]:
        """All processes below one; living ones whose children cannot be listed are added to `unlisted`."""
        return procfs.descendants(pid, unlisted)

    def name_of(self, pid: int) -> str:
        return procfs.name(pid)

    def started(self, pid: int) -> float | None:
        """When a process started, on the clock of `now`, in seconds."""
        return procfs.started_s(pid)

    def now(self) -> float:
        return int(time.clock_gettime(time.CLOCK_BOOTTIME) * procfs.TICKS_PER_S) / procfs.TICKS_PER_S

    def memory(self, pid: int) -> procfs.Memory | None:
        return procfs.memory(pid)

    def proportional(self, pid: int) -> procfs.Proportional | None:
        return procfs.proportional(pid)

    def lines(self, process: Process) -> bytes | None:
        """The memory of a followed process as text; equal bytes mean an equal reading. Empty after its end, None if it
        lives and may not be read."""
        try:
            text = os.pread(process.status, 4096, 0) if process.status >= 0 else self._read(process, "status")
            if text and procfs.PAST not in text:  # a user may be in thousands of groups
                text = procfs.read(process.pid, "status")
        except procfs.GONE:  # the descriptor is of this process, whichever has its id now
            return b""
        if not text:
            return None if procfs.lives(process.pid) else b""
        lines = procfs.memory_lines(text) or procfs.lines_of_another_thread(process.pid, text)
        if lines != process.lines:
            process.comm = text[len(b"Name:\t") : text.find(b"\n")]
        return lines

    def parse(self, lines: bytes) -> procfs.Memory | None:
        return procfs.parse_memory(lines)

    def used(self, process: Process) -> tuple[procfs.Usage, int] | None:
        """Resources including reaped children, and the parent."""
        text, io = self._read(process, "stat"), self._read(process, "io")
        return (procfs.parse_usage(text, io), procfs.parse_origin(text).parent) if text else None

    def reaped(self, pid: int) -> procfs.Usage | None:
        """Resources of reaped children; storage includes the process's own."""
        stat, io = procfs.read(pid, "stat"), procfs.read(pid, "io")
        return procfs.parse_usage(stat, io, own=False) if stat else None

    def origin(self, process: Process) -> procfs.Origin | None:
        text = self._read(process, "stat")
        return procfs.parse_origin(text) if text else None

    def forget(self, process: Process) -> None:
        """Release the resources kept for a process."""
        for name in ("status", "stat", "io"):
            if (descriptor := getattr(process, name)) >= 0:
                os.close(descriptor)
                setattr(process, name, -1)
                self._open -= 1
        self._opened_by.pop(process.pid, None)

    def keep_fewer_open(self) -> None:
        """Close open descriptors, and keep half as many from now on."""
        self._kept_open = self._open // 2
        for process in list(self._opened_by.values()):
            self.forget(process)

    def _read(self, process: Process, name: str) -> bytes | None:
        descriptor = getattr(process, name)
        try:
            if descriptor < 0:
                descriptor = self._opened(f"/proc/{process.pid}/{name}")
                if self._open >= self._kept_open:
                    try:
                        return os.read(descriptor, 8192)
                    finally:
                        os.close(descriptor)
                setattr(process, name, descriptor)
                self._opened_by[process.pid] = process
                self._open += 1
            return os.pread(descriptor, 8192, 0)
        except procfs.GONE:
            return None

    def _opened(self, path: str) -> int:
        try:
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            if error.errno not in _NO_ROOM or not self._open:
                raise
        self.keep_fewer_open()
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


def choose(name: str | None = None) -> Reader:
    """The requested reader; by default /proc if it suffices, else psutil.

    Raises ValueError for an unknown name, and if psutil is requested but missing or unable to read.
    """
    if name == "procfs":
        return Reader()
    if name == "psutil":
        reader = _through_psutil("it was asked for")
        if isinstance(reader, str):
            raise ValueError(f"--reader psutil: {reader}")
        return reader
    if name is not None:
        raise ValueError(f"--reader {name}: a reader is one of {', '.join(NAMES)}")
    lacks = lacking()
    reader = _through_psutil(lacks) if lacks else ""
    return Reader(f"{lacks}; {reader}" if lacks else None) if isinstance(reader, str) else reader


def lacking() -> str | None:
    """What /proc lacks to distinguish kinds of memory; None if nothing."""
    try:
        if not sys.platform.startswith("linux"):
            return f"{sys.platform} has no /proc"
        poor = procfs.why_not() is None and procfs.memory(os.getpid()) is None
    except Exception:  # such as too many open files, noted with the samples that are lost
        return None
    return "/proc tells no kinds of memory here" if poor else None


def _through_psutil(why: str) -> Reader | str:
    try:
        from .psutil_reader import Psutil
    except Exception:
        return "psutil is not installed: pip install psutil"
    reader = Psutil(why)
    return reader.why_not() or reader
