"""The private folder of a cell. Only one process uses it at a time."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from ..files import locked, names
from ..folders import fresh, remove

# Seconds for a killed process to end and release its folder.
_WAIT_S = 5.0


class TakenError(RuntimeError):
    """Another process uses the private folder. The message is one line."""


@contextlib.contextmanager
def private_folder(top: Path, path: str) -> Iterator[Path]:
    """An empty folder below `top` for the cache and result of one cell. It is deleted at the end.

    Processes below a guard keep it locked until they end, even if this process is killed. Raises TakenError, and
    ForeignFolderError if a folder exists there that was not made here.
    """
    folder = top / path
    lock = folder.with_name(f"{folder.name}.lock")
    descriptor = _locked(lock)
    try:
        fresh(folder)
        work = folder / "work"
        work.mkdir()
        try:
            yield work
        finally:
            with contextlib.suppress(OSError):  # leftover processes of the run may still write
                remove(folder)
    finally:
        lock.unlink(missing_ok=True)
        os.close(descriptor)
        with contextlib.suppress(OSError):  # the process locks another cell's folder, or has ended
            for parent in folder.parents[: len(folder.relative_to(top.parent).parts) - 1]:
                parent.rmdir()


def _locked(path: Path) -> int:
    """Lock a file and return its descriptor. Processes below a guard inherit the lock."""
    deadline = time.monotonic() + _WAIT_S
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        except FileNotFoundError:  # another cell has just deleted the empty folder
            continue
        # A file system without locks locks nothing for others either.
        if locked(descriptor) is not False and names(path, descriptor):  # its last owner deletes it
            os.ftruncate(descriptor, 0)
            os.write(descriptor, str(os.getpid()).encode())
            os.set_inheritable(descriptor, True)
            return descriptor
        holder = os.read(descriptor, 20).decode("ascii", "replace")
        os.close(descriptor)
        if time.monotonic() > deadline:
            raise TakenError(f"{path.with_suffix('')}: process {holder} still works in it; wait for it, or end it")
        time.sleep(0.05)
