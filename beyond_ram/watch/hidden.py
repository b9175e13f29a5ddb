"""What hides memory from the readings: mounts in /proc, PID namespaces of others, writes to files of memory groups."""

import ctypes
import os
import re
import select
import struct
from collections.abc import Collection, Iterable
from pathlib import Path

from . import procfs
from .waiting import checked

_libc = ctypes.CDLL(None, use_errno=True)
_OVER = re.compile(r"/proc/(\d+)(?:/|$)")
_NESTED = re.compile(rb"^NSpid:\t\d+\t", re.MULTILINE)
_NONBLOCK_CLOEXEC, _ERROR_AS_FILE, _ADD_FILESYSTEM, _AT_FDCWD = 3, 0x2000, 0x101, -100
_CLOSE_WRITE, _OVERFLOW = 0x8, 0x4000
_EVENT = struct.Struct("=I4xQii")
SET_BACK = "the peak of its memory group was set back"
_MEMBERS = ("cgroup.procs", "cgroup.threads", "tasks")


class Mounts:
    """Notices mounts over /proc/PID and over what is below: every reader finds there what the mount has."""

    def __init__(self) -> None:
        self._file = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        self._changed = select.poll()
        self._changed.register(self._file, select.POLLPRI)
        self._points = points = self._read()
        self._before = points.count("/proc")
        self.over: set[str] = set()
        """Those over processes of the tree, and over all of /proc."""

    def close(self) -> None:
        os.close(self._file)

    def moved(self) -> bool:
        """Whether a mount has changed since the last call."""
        if moved := bool(self._changed.poll(0)):
            self._points = self._read()
        return moved

    def look(self, pids: Collection[int]) -> None:
        """Look for those over the processes of the tree."""
        if self._points:
            self.over.update(point for point in self._points if (over := _OVER.match(point)) and int(over[1]) in pids)
            self.over.update(["/proc"] * (self._points.count("/proc") > self._before))

    def _read(self) -> list[str]:
        lines = procfs.read_file("/proc/self/mountinfo").decode().splitlines()
        return [point for line in lines if (point := line.split()[4]) == "/proc" or _OVER.match(point)]


def escaped(pids: Iterable[int], root: int) -> list[int]:
    """Those of some new processes that a process of another PID namespace adopted: of the memory group of `root`, and
    not below it. Entering a namespace whose first process is elsewhere does that."""
    return [
        pid
        for pid in pids
        if _NESTED.search(procfs.read(pid, "status") or b"")
        and procfs.read(pid, "cgroup") == procfs.read(root, "cgroup")
        and {1, root} & procfs.ancestors(pid) == {1}
    ]


class GroupWrites:
    """Who set back the peak of a memory group, or moved a process to another one. Needs root on the machine."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError if the kernel does not permit it."""
        self._folder, flags = folder, os.O_RDONLY | os.O_CLOEXEC
        self._file = _libc.fanotify_init(_NONBLOCK_CLOEXEC | _ERROR_AS_FILE, flags)
        if self._file < 0:  # before Linux 6.13 there is no event of a file whose group was removed meanwhile
            self._file = checked(_libc.fanotify_init(_NONBLOCK_CLOEXEC, flags))
        try:
            mask, path = ctypes.c_uint64(_CLOSE_WRITE), os.fsencode(folder)
            checked(_libc.fanotify_mark(self._file, _ADD_FILESYSTEM, mask, _AT_FDCWD, path))
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        os.close(self._file)

    def new(self) -> list[tuple[int, str]]:
        """The writers since the last call, 0 for one of another PID namespace, and what they did."""
        found: list[tuple[int, str]] = []
        while True:
            try:
                data = os.read(self._file, 1 << 14)
            except BlockingIOError:
                return found
            for _, mask, file, pid in _EVENT.iter_unpack(data):
                if mask & _OVERFLOW:
                    found.append((os.getpid(), "memory groups were written to more often than could be followed"))
                elif file < 0:
                    found.append((pid, "memory was charged to another group, which was removed"))
                else:
                    path = Path(os.readlink(f"/proc/self/fd/{file}"))  # noqa: PTH115
                    os.close(file)
                    if path.name == "memory.max_usage_in_bytes" and path.parent.name == self._folder.name:
                        found.append((pid, SET_BACK))
                    elif path.name in _MEMBERS and self._folder not in path.parents:
                        found.append((pid, f"memory was charged to another group, {path.parent.name}"))
