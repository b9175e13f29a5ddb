"""Locks that a killed Snakemake has left, told from those of one that runs.

Snakemake's locks name no process, so after a kill a person has to say `--unlock`. Here every workflow holds a file open
and locked for as long as it lives, which the kernel takes back however it ends.
"""

import contextlib
import fcntl
import os
import shutil
import socket
import sys
from pathlib import Path

from .callers import below_snakemake

_FILE, _LOCKS = "beyond-ram.running", "locks"
# Held until this process ends.
_held: list[int] = []


def clear(folder: Path) -> None:
    """Say that a workflow runs in a folder, until this process ends; take away the locks of those that were killed.

    Only where nobody else runs there, and all before have run on this machine: another one's locks may not be seen
    here. Where nothing can be locked all stays as it is.
    """
    own = folder / ".snakemake"
    try:
        own.mkdir(exist_ok=True)
        descriptor = os.open(own / _FILE, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError:
        return
    _held.append(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _alone(descriptor, own / _LOCKS)
    except OSError:  # somebody runs here, or nothing can be locked
        _add(descriptor, _hosts(descriptor))
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_SH)


class HeldError(RuntimeError):
    """Another workflow makes these results; the text is one line."""


def hold(results: Path, mark: str) -> None:
    """Hold a results folder by its mark until this process ends: Snakemake's own lock is of the working directory.

    Two workflows that weigh at once disturb each other, and each replaces what the other makes. Nothing is held below
    another Snakemake, which holds it, and where nothing can be locked. Raises HeldError.
    """
    try:
        descriptor = os.open(results / mark, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    _held.append(descriptor)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if not below_snakemake():
            raise HeldError(
                f"{results}: a snakemake of another folder works on these results; wait for it, or name others"
            ) from None
    except OSError:
        return


def _alone(descriptor: int, locks: Path) -> None:
    hosts, there = _hosts(descriptor), any(locks.glob("*.lock"))
    if there and hosts == [socket.gethostname()]:
        shutil.rmtree(locks)
        there = False
        print("the locks of a snakemake that was killed are taken away", file=sys.stderr)
    if not there:
        os.ftruncate(descriptor, 0)
        hosts = []
    elif not hosts:  # of a snakemake that said nothing of itself
        os.pwrite(descriptor, b"?\n", 0)
    _add(descriptor, hosts)


def _hosts(descriptor: int) -> list[str]:
    """The machines that workflows have run on since there were no locks."""
    return os.pread(descriptor, 1 << 16, 0).decode(errors="replace").split("\n")[:-1]


def _add(descriptor: int, hosts: list[str]) -> None:
    if (here := socket.gethostname()) not in hosts:
        os.pwrite(descriptor, f"{here}\n".encode(), os.fstat(descriptor).st_size)
