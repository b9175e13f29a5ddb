"""A private folder for one cell, used by one process at a time."""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from ..folders import fresh, remove

# Seconds until a killed process has ended and released its folder.
_WAIT_S = 5.0
_NO_LOCKS = {errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK}


class TakenError(RuntimeError):
    """A private folder that another process has; the text is one line."""


@contextlib.contextmanager
def private_folder(top: Path, path: str) -> Iterator[Path]:
    """A folder below `top` for one cell's cache and result: empty at the start, gone at the end.

    What is below a guard keeps it locked until its end, also where this process is killed. Raises TakenError, and
    ForeignFolderError where something stands there that was not made here.
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
            with contextlib.suppress(OSError):  # what the run left behind may still write
                remove(folder)
    finally:
        lock.unlink(missing_ok=True)
        os.close(descriptor)
        with contextlib.suppress(OSError):  # it locks the folder of another cell, or has ended
            for parent in folder.parents[: len(folder.relative_to(top.parent).parts) - 1]:
                parent.rmdir()


def _locked(path: Path) -> int:
    """The descriptor of a locked file, which processes below a guard inherit."""
    deadline = time.monotonic() + _WAIT_S
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        except FileNotFoundError:  # another cell has just taken the empty folder away
            continue
        if _has(descriptor) and _is(descriptor, path):
            os.ftruncate(descriptor, 0)
            os.write(descriptor, str(os.getpid()).encode())
            os.set_inheritable(descriptor, True)
            return descriptor
        holder = os.read(descriptor, 20).decode("ascii", "replace")
        os.close(descriptor)
        if time.monotonic() > deadline:
            raise TakenError(f"{path.with_suffix('')}: process {holder} still works in it; wait for it, or end it")
        time.sleep(0.05)


def _has(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _NO_LOCKS:  # a file system without locks gives none to the other either
            return False
    return True


def _is(descriptor: int, path: Path) -> bool:
    """Whether the file that was locked is still the one that others find: its last holder takes it away."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False
