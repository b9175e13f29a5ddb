"""Memory that the kernel took for no group and no process: data in sockets, rings, namespaces, drivers, RAM disks.

Of the machine's memory it is what is neither free nor page cache, of processes, or in slabs that can be given back. Of
that, the growth beyond the charge of the command's group is the command's, or of other programs. Pages that a processor
keeps at hand are free (/proc/zoneinfo).
"""

import contextlib
import os
import re
import time
from collections import deque

_LISTED = (b"MemFree", b"Buffers", b"Cached", b"SwapCached", b"AnonPages", b"SReclaimable", b"Balloon")
_MEMINFO = re.compile(rb"^(MemTotal|%s): +(\d+) kB$" % b"|".join(_LISTED), re.MULTILINE)
_AT_HAND = re.compile(rb" count: +(\d+)")
_PAGE = os.sysconf("SC_PAGE_SIZE")
# Between two readings, and the share of the time that they may take where many processors make them slow.
_EVERY_S, _SHARE = 0.1, 0.001
# What this many readings in a row show: pages on their way from one list to another are on none.
_IN_A_ROW = 3


class KernelMemory:
    """Follows the machine from reading to reading. `uncharged_bytes` is the highest growth that no group explains."""

    def __init__(self) -> None:
        """Create it before the command starts: memory counts from here. Raises OSError or ValueError; see `open`."""
        if os.stat("/proc/meminfo").st_dev != os.stat("/proc").st_dev:  # noqa: PTH116
            raise ValueError("/proc/meminfo is not the kernel's")
        self._files: list[int] = []
        self.uncharged_bytes = 0
        self._last, self._due_s = deque([0] * _IN_A_ROW, _IN_A_ROW), 0.0
        try:
            for path in ("/proc/meminfo", "/proc/zoneinfo"):
                self._files.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
            began_s = time.thread_time()
            self._before_bytes = self._read()
            self._every_s = max(_EVERY_S, (time.thread_time() - began_s) / _SHARE)
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(cls) -> "KernelMemory | None":
        """None where /proc does not tell it: on another kernel, in a container that has a meminfo of its own."""
        with contextlib.suppress(OSError, ValueError, MemoryError):
            return cls()
        return None

    def close(self) -> None:
        while self._files:
            os.close(self._files.pop())

    def look(self, now_s: float, charged_bytes: int) -> None:
        """Read the machine if it is time; the group is charged for `charged_bytes` more kernel memory than before."""
        if now_s >= self._due_s and self._files:
            self._due_s = now_s + self._every_s
            beyond = self._read() - charged_bytes
            self._before_bytes = min(self._before_bytes, beyond)  # others may free memory
            self._last.append(beyond - self._before_bytes)
            self.uncharged_bytes = max(self.uncharged_bytes, min(self._last))

    def _read(self) -> int:
        meminfo, zones = map(_content, self._files)
        sizes = {name: int(size) << 10 for name, size in _MEMINFO.findall(meminfo)}
        if {b"MemTotal", *_LISTED} - {b"Balloon"} - sizes.keys():  # older kernels do not tell a balloon
            raise ValueError("/proc/meminfo lacks lines")
        at_hand = _PAGE * sum(map(int, _AT_HAND.findall(zones)))
        return sizes[b"MemTotal"] - sum(sizes.get(name, 0) for name in _LISTED) - at_hand


def _content(descriptor: int) -> bytes:
    os.lseek(descriptor, 0, os.SEEK_SET)
    parts = list[bytes]()
    while part := os.read(descriptor, 1 << 16):
        parts.append(part)
    return b"".join(parts)
