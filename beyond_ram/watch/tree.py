"""The processes below one process, followed cheaply from sample to sample.

/proc files are kept open and read again in place: no path look-up, and a descriptor stays with its process even when
the kernel gives its number to another. The tree is listed again only when the kernel has given out a process id since
then, or one of ours has ended, and once a second: otherwise no process can have joined.
"""

import errno
import math
import os
import time

from . import procfs

# Descriptors kept open at most; what is beyond is opened for each reading.
_KEPT_OPEN = 384
_NO_ROOM = (errno.EMFILE, errno.ENFILE)
_LIST_AT_LEAST_EVERY_S = 1.0


class Process:
    """One process: its open /proc files and what the peaks need to remember of it, in bytes."""

    __slots__ = (
        "anon_high",
        "before",
        "final",
        "hwm",
        "io",
        "last",
        "lines",
        "name",
        "pid",
        "rss_high",
        "run_hwm",
        "stat",
        "status",
    )

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.name = ""
        self.lines = b""
        self.status = self.stat = self.io = -1
        self.before: procfs.Memory | None = None
        self.last: procfs.Memory | None = None
        self.hwm = self.anon_high = self.run_hwm = self.rss_high = 0
        self.final = False

    def close(self) -> int:
        """Close what is open; how many descriptors that were."""
        opened = [descriptor for descriptor in (self.status, self.stat, self.io) if descriptor >= 0]
        for descriptor in opened:
            os.close(descriptor)
        self.status = self.stat = self.io = -1
        return len(opened)


class Tree:
    def __init__(self, root: int) -> None:
        self.root = root
        self.processes: dict[int, Process] = {}
        self.living: list[Process] = []
        self._zombies: dict[int, Process] = {}
        self._used = procfs.Usage(0.0, 0, 0)
        self._stored = (0, 0)
        self._open, self._kept_open = 0, _KEPT_OPEN
        self._last_pid = b""
        try:
            self._loadavg = os.open("/proc/loadavg", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._loadavg = -1
        self._listed_s = -math.inf
        self._someone_ended = True
        self.faults = 0
        self.moved = False
        """Whether the last reading found anything else than the one before: in memory, or who is there."""

    def close(self) -> None:
        for process in [*self.processes.values(), *self._zombies.values()]:
            self._open -= process.close()
        if self._loadavg >= 0:
            os.close(self._loadavg)

    def known(self) -> set[int]:
        """The processes of the last listing, those that have ended and were not reaped yet included."""
        return {*self.processes, *self._zombies}

    def origins(self) -> dict[int, procfs.Origin]:
        """Where the living processes come from, and their faults so far; sets `faults`, those of the whole tree."""
        texts = [(process.pid, self._read(process, "stat")) for process in (*self.living, *self._zombies.values())]
        found = {pid: procfs.parse_origin(text) for pid, text in texts if text}
        reaped = procfs.read(self.root, "stat")
        count = procfs.parse_usage(reaped, own=False).minor_faults if reaped else 0
        self.faults = max(self.faults, count + sum(one.minor_faults + one.reaped_faults for one in found.values()))
        return found

    def memory(self) -> tuple[bool, list[Process]]:
        """Read every process. Whether anything is new since the last call, and those that were found to have ended."""
        changed = self._list_if_needed()
        self.moved, ended = False, []
        for process in self.living:
            try:
                text = os.pread(process.status, 4096, 0) if process.status >= 0 else self._read(process, "status")
            except procfs.GONE:
                text = None
            lines = procfs.memory_lines(text) if text else b""
            if lines == process.lines and lines:
                continue
            changed = self.moved = True
            reading = procfs.parse_memory(lines)
            if reading is None:
                ended.append(process)
            else:
                process.lines = lines
                process.before, process.last = process.last or reading, reading
        for process in ended:
            self._forget(process)
        return changed, ended

    def usage(self) -> tuple[procfs.Usage, tuple[int, int] | None]:
        """CPU, faults and storage of the whole tree since its root began to reap; never less than at the last call."""
        here = [*self.processes.values(), *self._zombies.values()]
        usages = [procfs.parse_usage(text) for process in here if (text := self._read(process, "stat"))]
        pairs = [procfs.parse_storage(text) for process in here if (text := self._read(process, "io"))]
        if reaped := procfs.read(self.root, "stat"):
            usages.append(procfs.parse_usage(reaped, own=False))
        if root_io := procfs.read(self.root, "io"):
            pairs.append(procfs.parse_storage(root_io))
        # A child that is reaped between two of these readings would be missing from both it and its parent.
        self._used = procfs.Usage(
            max(self._used.cpu_s, sum(usage.cpu_s for usage in usages)),
            max(self._used.minor_faults, sum(usage.minor_faults for usage in usages)),
            max(self._used.major_faults, sum(usage.major_faults for usage in usages)),
        )
        if pairs:
            self._stored = (
                max(self._stored[0], sum(r for r, _ in pairs)),
                max(self._stored[1], sum(w for _, w in pairs)),
            )
        return self._used, self._stored if pairs else None

    def _list_if_needed(self) -> bool:
        """Whether the tree was listed, so that somebody may have come and gone."""
        now, last_pid = time.monotonic(), b""
        if self._loadavg >= 0:
            last_pid = procfs.last_pid(os.pread(self._loadavg, 128, 0))
        still = last_pid and last_pid == self._last_pid and not self._someone_ended
        if still and now - self._listed_s < _LIST_AT_LEAST_EVERY_S:
            return False
        self._last_pid, self._listed_s, self._someone_ended = last_pid, now, False
        pids = procfs.descendants(self.root)
        for pid in self._zombies.keys() - set(pids):
            self._open -= self._zombies.pop(pid).close()
        for pid in pids:
            if pid not in self.processes and pid not in self._zombies:
                self.processes[pid] = Process(pid)
                self.living.append(self.processes[pid])
        return True

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
                self._open += 1
            return os.pread(descriptor, 8192, 0)
        except procfs.GONE:
            return None

    def doubt(self) -> None:
        """Forget what was read: a sample was lost halfway, and the next one must not find that nothing has changed."""
        self._someone_ended = True
        for process in self.living:
            process.lines = b""

    def _opened(self, path: str) -> int:
        try:
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            if error.errno not in _NO_ROOM or not self._open:
                raise
        self.keep_fewer_open()
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def keep_fewer_open(self) -> None:
        """Close what is open, and keep half as many from now on: this process may open no more files."""
        self._kept_open = self._open // 2
        for process in [*self.processes.values(), *self._zombies.values()]:
            self._open -= process.close()

    def _forget(self, process: Process) -> None:
        """It has no memory any more. What it used can be read until its parent takes note of its end."""
        self._zombies[process.pid] = self.processes.pop(process.pid)
        self.living.remove(process)
        self._someone_ended = True
