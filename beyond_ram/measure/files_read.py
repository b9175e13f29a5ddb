"""The files that a run reads, as far as they can be seen from outside: those that it has open or mapped at a look."""

import contextlib
import os
import time
from pathlib import Path
from typing import Any

from ..watch.reader import Reader

# After each look, the next waits this many times as long as the look took.
_APART = 20
_NO_FILES = ("/dev/", "/proc/", "/sys/")


class FilesRead:
    """Names of files, collected while a run is watched. A file that is open for less than the time between two looks
    is missing."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._pid, self._due_s = 0, 0.0
        self._reader = Reader()

    def at_event(self, event: dict[str, Any], pid: int) -> None:
        """Take an event of the run and its first process, which waits meanwhile; at its end all is mapped."""
        self._pid = pid
        if event["event"] == "work":
            self._due_s = 0.0
        self.look()

    def look(self) -> bool:
        """Look, if it is time. Always true, as the watcher asks with every sample whether to go on."""
        began = time.monotonic()
        if self._pid and began >= self._due_s:
            for pid in [self._pid, *self._reader.descendants(self._pid, set())]:
                self._names |= _open_in(pid) | _mapped_in(pid)
            self._due_s = time.monotonic() + _APART * (time.monotonic() - began)
        return True

    def outside(self, folder: Path) -> list[Path]:
        """The files that are still there and not below `folder`."""
        own = os.path.realpath(folder) + os.sep
        names = (name for name in sorted(self._names) if not name.startswith((*_NO_FILES, own)))
        return [path for path in map(Path, names) if path.is_file() and os.access(path, os.R_OK)]


def _open_in(pid: int) -> set[str]:
    names = set()
    with contextlib.suppress(OSError):
        for number in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208 (names are enough)
            with contextlib.suppress(OSError):
                names.add(os.readlink(f"/proc/{pid}/fd/{number}"))  # noqa: PTH115
    return {name for name in names if name.startswith("/")}


def _mapped_in(pid: int) -> set[str]:
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{pid}/maps").read_bytes().splitlines()
        return {os.fsdecode(line[line.index(b"/") :]) for line in lines if b"/" in line}
    return set()
