"""How long processes waited for memory: pressure stall information of a group or of the whole machine.

`some` is the time in which at least one process waited for free memory, or for a page that had just been reclaimed.
`full` is the part of it in which no other process of the group could work either. The kernel keeps both sums in
microseconds; here they are seconds since the object was made.
"""

import contextlib
import errno
import os
from pathlib import Path
from typing import Any, NamedTuple

from .memory_group import Around

MACHINE = Path("/proc/pressure/memory")
OF_GROUP, OF_AROUND, OF_MACHINE = "group", "around", "machine"


class Stalls(NamedTuple):
    """Seconds of waiting since the object was made."""

    some_s: float
    full_s: float


class Pressure:
    """Reads a file of pressure stall information repeatedly."""

    def __init__(self, path: Path, of: str) -> None:
        """`of` names the processes that the file counts. Raises OSError or ValueError for an unreadable file."""
        self.path, self.of = path, of
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._before = parse(os.pread(self._descriptor, 512, 0))
        except (OSError, ValueError):
            os.close(self._descriptor)
            raise
        self._last = Stalls(0.0, 0.0)

    def read(self) -> Stalls:
        """Seconds of waiting until now; the last reading if the group was removed. Raises OSError."""
        try:
            now = parse(os.pread(self._descriptor, 512, 0))
        except OSError as error:
            if error.errno != errno.ENODEV:
                raise
        else:
            some_s, full_s = (after - before for after, before in zip(now, self._before, strict=True))
            self._last = Stalls(round(some_s, 6), round(full_s, 6))
        return self._last

    def record(self) -> dict[str, Any]:
        """The entry of run.json: whose waiting it is, and the last reading in seconds."""
        return {"of": self.of, **self._last._asdict()}

    def close(self) -> None:
        """Close the file; `record` still works."""
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
        self._descriptor = -1


def parse(text: bytes) -> Stalls:
    """Both sums of a pressure file, in seconds. Raises ValueError if one is missing."""
    totals = {}
    for line in text.splitlines():
        name, _, rest = line.partition(b" ")
        totals[name] = dict(field.partition(b"=")[::2] for field in rest.split())
    try:
        return Stalls(*(int(totals[name][b"total"]) / 1e6 for name in (b"some", b"full")))
    except KeyError as error:
        raise ValueError(f"no pressure file: {error} is missing") from None


def open_first(group: Path | None, around: Around | None) -> Pressure | None:
    """The pressure of the command's group, else of the group around it, else of the machine.

    None if the kernel counts none: it has no such file, or counting is switched off. cgroup v1 has none per group.
    """
    files = [(group / "memory.pressure", OF_GROUP)] if group else []
    if around:
        files.append((around.meter.path / "memory.pressure", OF_GROUP if around.whole else OF_AROUND))
    for file, of in (*files, (MACHINE, OF_MACHINE)):
        with contextlib.suppress(OSError, ValueError):
            return Pressure(file, of)
    return None
