"""The processes below one process, followed cheaply from sample to sample.

The tree is listed again only if the kernel has assigned a process id since, if one of its processes has ended, or after
a second. Otherwise no process can have joined.
"""

import math
import os
import time
from dataclasses import dataclass
from typing import Any

from . import hidden, procfs
from .reader import HWM, Reader

_LIST_AT_LEAST_EVERY_S = 1.0
_STARTED_LOOKED_AT = 32


@dataclass(slots=True, eq=False)
class Process:
    """One process: its reader's open files, and what the peaks need to remember of it, in bytes."""

    pid: int
    name: str = ""
    comm: bytes = b""
    """Its current name in the kernel; an exec changes it."""
    lines: bytes = b""
    status: int = -1
    stat: int = -1
    io: int = -1
    handle: Any = None
    before: procfs.Memory | None = None
    last: procfs.Memory | None = None
    hwm: int = 0
    anon_high: int = 0
    run_hwm: int = 0
    rss_high: int = 0
    floor: int = 0
    """A mark of this size is from before the attach, and shows nothing about the time since."""
    final: bool = False
    same_as: int = 0
    """The process whose memory it has too, between vfork and exec."""


class Tree:
    """All processes below `root`, which does not count itself."""

    def __init__(self, root: int, reader: Reader | None = None) -> None:
        self.root, self.reader = root, reader or Reader()
        self.resets = HWM not in self.reader.unknown
        """Whether the kernel's marks of its processes may be reset."""
        self.processes: dict[int, Process] = {}
        self.living: list[Process] = []
        self._zombies: dict[int, Process] = {}
        self._aside: dict[int, Process] = {}
        """Living processes that do not count: those that may not be read, and those with the memory of another."""
        self.unreadable: dict[int, str] = {}
        """The processes that lived and could not be read at some time, with their names as far as known."""
        self.unlisted: set[int] = set()
        """The processes whose children could not be listed at some time."""
        self.listings = 0
        self.by_group = False
        """Whether it is listed by its memory group, so that none of its processes is in another."""
        self._used = procfs.Usage()
        self._last_pid = b""
        try:
            self._loadavg = os.open("/proc/loadavg", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._loadavg = -1
        self._listed_s = -math.inf
        self.mounts = hidden.Mounts() if os.path.exists("/proc/self/mountinfo") else None  # noqa: PTH110
        self.escaped: set[int] = set()
        """Processes that left the tree and were not followed."""
        self._someone_ended = True
        self.faults = 0
        self.changed = False
        """Whether the last reading showed a change of memory or processes."""

    def close(self) -> None:
        for process in [*self.processes.values(), *self._zombies.values(), *self._aside.values()]:
            self.reader.forget(process)
        if self._loadavg >= 0:
            os.close(self._loadavg)
        if self.mounts:
            self.mounts.close()

    def listed(self) -> list[int]:
        """The ids of the processes that belong to the tree now."""
        return self.reader.descendants(self.root, self.unlisted)

    def listed_pids(self) -> set[int]:
        """The processes of the last listing, with those that have ended but are not yet reaped."""
        return {*self.processes, *self._zombies, *self._aside}

    @property
    def hidden(self) -> list[int]:
        """The living processes that may not be read now."""
        return [pid for pid, process in self._aside.items() if not process.same_as]

    def origins(self) -> dict[int, procfs.Origin]:
        """Origin of the living processes, and their faults so far. Sets `faults` of the whole tree."""
        # Who reaps before who is reaped: then no fault is counted twice.
        reaped = self.reader.reaped(self.root)
        readings = [(process.pid, self.reader.origin(process)) for process in (*self.living, *self._zombies.values())]
        origins = {pid: origin for pid, origin in readings if origin}
        count = reaped.minor_faults if reaped else 0
        self.faults = max(self.faults, count + sum(one.minor_faults + one.reaped_faults for one in origins.values()))
        return origins

    def memory(self) -> tuple[bool, list[Process]]:
        """Read every process. Returns whether anything has changed since the last call, and the ended processes."""
        changed = self._list_if_needed()
        self._bring_back()
        self.changed, ended = False, []
        for process in self.living:
            lines = self.reader.lines(process)
            if lines == process.lines and lines:
                continue
            changed = self.changed = True
            reading = self.reader.parse(lines) if lines else None
            if reading is None or lines is None:
                ended.append(process)
                if lines is None:
                    self.unreadable.setdefault(process.pid, process.name)
                    self._aside[process.pid] = process
            else:
                process.lines = lines
                process.before, process.last = process.last or reading, reading
        for process in ended:
            self._forget(process)
        return changed, ended

    def usage(self) -> procfs.Usage:
        """CPU, faults and storage of the whole tree since its root began to reap; never less than at the last call."""
        processes = [*self.processes.values(), *self._zombies.values()]
        usages = [used[0] for process in processes if (used := self.reader.used(process))]
        if reaped := self.reader.reaped(self.root):
            usages.append(reaped)
        return self._at_least(procfs.combined(sum, usages))

    def _at_least(self, now: procfs.Usage) -> procfs.Usage:
        # A child that is reaped between the two readings would be missing from both it and its parent.
        self._used = procfs.combined(max, [self._used, now])
        return self._used if now.read_bytes is not None else self._used._replace(read_bytes=None, written_bytes=None)

    def _list_if_needed(self) -> bool:
        """List the tree if a process may have joined. Returns whether it was listed."""
        now, last_pid = time.monotonic(), b""
        if self._loadavg >= 0:
            last_pid = procfs.last_pid(os.pread(self._loadavg, 128, 0))
        # gVisor's last process id is always 0.
        still = last_pid.strip(b"0\n") and last_pid == self._last_pid and not self._someone_ended
        mounts = self.mounts
        if not (mounts and mounts.changed()) and still and now - self._listed_s < _LIST_AT_LEAST_EVERY_S:
            return False
        before, self._last_pid, self._listed_s, self._someone_ended = self._last_pid, last_pid, now, False
        pids, known = self.listed(), self.listed_pids()
        self.listings += 1
        if mounts:
            mounts.look({*pids, *known})
        for absent in (self._zombies, self._aside):
            for pid in absent.keys() - set(pids):
                self.reader.forget(absent.pop(pid))
        if self.root and before.strip():
            started = range(int(before) + 1, int(last_pid) + 1)[-_STARTED_LOOKED_AT:]
            self.escaped.update(hidden.escaped(set(started) - known - set(pids), self.root))
        for pid in pids:
            if pid not in known:
                process = Process(pid)
                if self._has_memory_of_parent(process):
                    self._aside[pid] = process
                else:
                    self._add(process)
        return True

    def _has_memory_of_parent(self, process: Process) -> bool:
        """Whether a new process uses its parent's memory until it executes a program: vfork and posix_spawn."""
        origin = self.reader.origin(process)
        if origin is None or origin.parent not in self.processes:
            return False
        if procfs.same_memory(process.pid, origin.parent):
            process.same_as = origin.parent
        return bool(process.same_as)

    def _add(self, process: Process) -> None:
        self.processes[process.pid] = process
        self.living.append(process)

    def _bring_back(self) -> None:
        """Count processes again that can be read, and have memory of their own."""
        for process in list(self._aside.values()):
            if process.same_as and procfs.same_memory(process.pid, process.same_as):
                continue
            process.same_as = 0
            if self.reader.lines(process) is None:
                self.unreadable.setdefault(process.pid, process.name)
            else:
                self._add(self._aside.pop(process.pid))

    def doubt(self) -> None:
        """Forget the last reading. A sample was lost halfway, and the next one must not report "unchanged"."""
        self._someone_ended = True
        for process in self.living:
            process.lines = b""

    def _forget(self, process: Process) -> None:
        """Mark a process as ended: it has no memory, but its resources stay readable until its parent reaps it."""
        del self.processes[process.pid]
        self.living.remove(process)
        if process.pid not in self._aside:
            self._zombies[process.pid] = process
        self._someone_ended = True
