"""What hides memory from the readings: mounts in /proc, PID namespaces of others, writes to files of the kernel."""

import contextlib
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
_MODIFY, _CLOSE_WRITE, _OVERFLOW = 0x2, 0x8, 0x4000
_EVENT, _IN_FOLDER = struct.Struct("=I4xQii"), struct.Struct("=iIII")
_EVENTS_AT_ONCE = 64  # each has an open file
PEAK = "the peak of its memory group was set back"
MARK = "the high-water mark of a process was set back"
LIMIT = "the limit of its memory group was written to"
_TOO_OFTEN = "files of the kernel were written to more often than could be followed"
# On v2 each open file has a peak of its own.
_BY_FILE = {
    "memory.max_usage_in_bytes": PEAK,
    **dict.fromkeys(("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "memory.max", "memory.swap.max"), LIMIT),
}
_MEMBERS = ("cgroup.procs", "cgroup.threads", "tasks")


class Mounts:
    """Notices mounts over /proc/PID and over what is below: every reader finds there what the mount has."""

    def __init__(self) -> None:
        self._file = os.open("/proc/self/mountinfo", os.O_RDONLY | os.O_CLOEXEC)
        self._changed = select.poll()
        self._changed.register(self._file, select.POLLPRI)
        self._points = self._read()
        self._before = self._whole
        self.over: set[str] = set()
        """Those over processes of the tree, and over all of /proc."""

    def close(self) -> None:
        os.close(self._file)

    def changed(self) -> bool:
        """Whether a mount has changed since the last call."""
        if changed := bool(self._changed.poll(0)):
            self._points = self._read()
        return changed

    def look(self, pids: Collection[int]) -> None:
        """Look for those over the processes of the tree."""
        if self._points:
            over = [(point, match) for point in self._points.values() if (match := _OVER.match(point))]
            self.over.update(point for point, match in over if int(match[1]) in pids)
            self.over.update(["/proc"] * (self._whole != self._before))

    @property
    def _whole(self) -> set[str]:
        """The mounts over all of /proc."""
        return {mount for mount, point in self._points.items() if point == "/proc"}

    def _read(self) -> dict[str, str]:
        """Where there are mounts, by their ids."""
        lines = [line.split() for line in procfs.read_file("/proc/self/mountinfo").decode().splitlines()]
        return {words[0]: words[4] for words in lines if words[4] == "/proc" or _OVER.match(words[4])}


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


class Writes:
    """Who changed what the kernel counts: peak, limit and processes of a memory group, the mark of a process."""

    def __init__(self, folder: Path) -> None:
        """Raises OSError if the group can be changed unseen."""
        self._folder, self._ready = folder, select.poll()
        self._all, self.sees_marks = -1, False
        """Whether all marks are followed, as far as they are set back through our /proc."""
        self._own = checked(_libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        try:
            checked(_libc.inotify_add_watch(self._own, os.fsencode(folder), _CLOSE_WRITE))
            self._ready.register(self._own, select.POLLIN)
            with contextlib.suppress(OSError, AttributeError):  # needs root on the machine
                self._follow_all()
        except BaseException:
            self.close()
            raise

    def _follow_all(self) -> None:
        flags = os.O_RDONLY | os.O_CLOEXEC
        self._all = _libc.fanotify_init(_NONBLOCK_CLOEXEC | _ERROR_AS_FILE, flags)
        if self._all < 0:  # before Linux 6.13 there is no event of a file whose group was removed meanwhile
            self._all = checked(_libc.fanotify_init(_NONBLOCK_CLOEXEC, flags))
        self._ready.register(self._all, select.POLLIN)
        for path, mask in ((self._folder, _CLOSE_WRITE), ("/proc", _MODIFY)):
            how = ctypes.c_uint64(mask)
            checked(_libc.fanotify_mark(self._all, _ADD_FILESYSTEM, how, _AT_FDCWD, os.fsencode(path)))
        self.sees_marks = True

    def close(self) -> None:
        for file in (self._own, self._all):
            if file >= 0:
                os.close(file)

    def new(self) -> list[tuple[int, str]]:
        """The writers since the last call, 0 for one of another PID namespace, and what they did.

        This process stands for an unknown writer. Of a mark, writer and process are in the list.
        """
        writers: list[tuple[int, str]] = []
        while ready := self._ready.poll(0):
            for file, _ in ready:
                if file == self._own:
                    writers += [(os.getpid(), did) for did in self._of_folder(os.read(file, 1 << 14))]
                else:
                    events = os.read(file, _EVENTS_AT_ONCE * _EVENT.size)
                    writers += [one for event in _EVENT.iter_unpack(events) for one in self._of(*event)]
        return writers

    def _of_folder(self, events: bytes) -> Iterable[str]:
        """A sentence for each write to a file of the group. Our own files stay open and are not reported."""
        while events:
            _, mask, _, size = _IN_FOLDER.unpack_from(events)
            end = _IN_FOLDER.size + size
            name, events = events[_IN_FOLDER.size : end].rstrip(b"\0").decode(), events[end:]
            if mask & _OVERFLOW:
                yield _TOO_OFTEN
            elif name in _BY_FILE:
                yield _BY_FILE[name]

    def _of(self, _: int, mask: int, file: int, pid: int) -> list[tuple[int, str]]:
        """(pid, sentence) for one write that fanotify reports; empty if the file does not matter."""
        if mask & _OVERFLOW:
            return [(os.getpid(), _TOO_OFTEN)]
        if file < 0:
            return [(pid, "memory was charged to another group, which was removed")]
        path = Path(os.readlink(f"/proc/self/fd/{file}"))  # noqa: PTH115
        os.close(file)
        if path.name == "clear_refs" and pid != os.getpid():
            return [(pid, MARK), *((int(target), MARK) for target in [path.parent.name] if target.isdigit())]
        if path.name in _MEMBERS and self._folder not in path.parents:
            return [(pid, f"memory was charged to another group, {path.parent.name}")]
        return []
