"""Read processes with psutil: RSS, CPU time and parents everywhere; PSS, USS and storage if it knows them.

Imported only if used. On Linux psutil reads the same /proc, so it helps if `status` lacks the kinds of memory, as in
gVisor. RSS minus `shared` of statm is anonymous memory; gVisor reports 0 for `shared`, and then anonymous memory is
unknown.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

import psutil

from . import procfs
from .procfs import Memory, Proportional, Usage
from .reader import FAULTS, HWM, Reader

if TYPE_CHECKING:
    from .tree import Process

_GONE = (psutil.Error, *procfs.GONE)
# Values that psutil does not know, or defines differently.
_NEVER = {"file_bytes", "shmem_bytes", "swap_bytes", "pss_anon_bytes", "pss_shmem_bytes", HWM, *FAULTS}


class Psutil(Reader):
    """The reader. `unknown` is determined by reading this process."""

    name = "psutil"

    def __init__(self, why: str) -> None:
        self.why = why
        self.unknown: frozenset[str] = frozenset(_NEVER)
        self._why_not: str | None = None
        self._counts_shared = False
        try:
            self._look_at_self()
        except Exception as error:  # whatever a platform lacks
            self._why_not = f"psutil reads nothing here: {type(error).__name__}: {error}"

    def _look_at_self(self) -> None:
        own = psutil.Process()
        # Part of the interpreter is always mapped: 0 shared pages means that they are not counted.
        self._counts_shared = getattr(own.memory_info(), "shared", 0) > 0
        unknown = set(_NEVER) if self._counts_shared else {*_NEVER, "anon_bytes"}
        full = _quietly(own.memory_full_info)
        unknown |= {f"{kind}_bytes" for kind in ("pss", "uss") if not hasattr(full, kind)}
        if not hasattr(_quietly(getattr(own, "io_counters", None)), "read_bytes"):
            unknown |= {"read_bytes", "written_bytes"}
        self.unknown = frozenset(unknown)

    def why_not(self) -> str | None:
        return self._why_not or (procfs.why_not() if sys.platform.startswith("linux") else None)

    def descendants(self, pid: int, unlisted: set[int] | None = None) -> list[int]:
        if not sys.platform.startswith("linux"):
            return [child.pid for child in _quietly(lambda: psutil.Process(pid).children(recursive=True)) or ()]
        return procfs.descendants(pid, unlisted)  # psutil skips those that it may not read

    def name_of(self, pid: int) -> str:
        return str(_quietly(lambda: psutil.Process(pid).name()) or "?")

    def started(self, pid: int) -> float | None:
        """Seconds since boot, because setting the machine's clock changes the Unix times of all processes."""
        since_boot_s = _quietly(lambda: psutil.Process(pid).create_time() - psutil.boot_time())
        return None if since_boot_s is None else round(float(since_boot_s), 4)

    def now(self) -> float:
        return time.time() - float(_quietly(psutil.boot_time) or 0.0)

    def memory(self, pid: int) -> Memory | None:
        info = _quietly(lambda: psutil.Process(pid).memory_info())
        return self.parse(self._text(info)) if info else None

    def proportional(self, pid: int) -> Proportional | None:
        full = _quietly(lambda: psutil.Process(pid).memory_full_info())
        if full is None or not hasattr(full, "uss"):
            return None
        return Proportional(getattr(full, "pss", 0), full.uss, None)

    def lines(self, process: Process) -> bytes | None:
        try:
            if process.handle is None:
                process.handle = psutil.Process(process.pid)
            if not process.handle.is_running():  # false also if another process has its id
                return b""
            text = self._text(process.handle.memory_info())
            if text != process.lines:
                process.comm = os.fsencode(process.handle.name())
            return text
        except (psutil.AccessDenied, PermissionError):
            return None
        except _GONE:
            return None if procfs.lives(process.pid) else b""

    def _text(self, info: Any) -> bytes:
        """RSS and shared bytes as text; empty for a zombie, whose RSS is 0."""
        shared = info.shared if self._counts_shared else info.rss
        return b"%d %d" % (info.rss, shared) if info.rss else b""

    def parse(self, lines: bytes) -> Memory | None:
        if not lines:
            return None
        rss, shared = map(int, lines.split())
        # RSS and its parts are counted separately, and one may lead.
        shared = min(shared, rss)
        return Memory(0, rss - shared, 0, 0, 0, other_bytes=shared)

    def used(self, process: Process) -> tuple[Usage, int] | None:
        try:
            with process.handle.oneshot():
                return self._usage(process.handle, own=True), process.handle.ppid()
        except (*_GONE, AttributeError):
            return None

    def reaped(self, pid: int) -> Usage | None:
        usage: Usage | None = _quietly(lambda: self._usage(psutil.Process(pid), own=False))
        return usage

    def _usage(self, process: Any, *, own: bool) -> Usage:
        times = process.cpu_times()
        cpu_s = getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
        cpu_s += times.user + times.system if own else 0.0
        stored = None if "read_bytes" in self.unknown else _quietly(process.io_counters)
        return Usage(cpu_s, 0, 0, stored.read_bytes, stored.write_bytes) if stored else Usage(cpu_s)

    def origin(self, process: Process) -> procfs.Origin | None:
        return None

    def forget(self, process: Process) -> None:
        process.handle = None

    def keep_fewer_open(self) -> None:
        """Nothing to do: no file stays open."""


def _quietly(read: Any) -> Any:
    """The result of a call; None if it fails here."""
    try:
        return read()
    except Exception:  # psutil's own errors, and others from a platform's files
        return None
