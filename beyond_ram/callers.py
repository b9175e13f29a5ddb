"""The Snakemakes above a process: end them with it, and restore the user's thread settings.

Every script of the workflow needs it.
"""

import os
import signal
import sys
import threading
import time
from pathlib import Path

_LOOK_EVERY_S = 0.5
# Variables that Snakemake sets for every command to the threads of its rule (its shell.py), whatever the user's value.
_THREADS = (
    "OMP_NUM_THREADS",
    "GOTO_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def end_with_snakemake() -> None:
    """End this process, and so all that it guards, soon after the Snakemake that has started it.

    A killed Snakemake leaves the shells of its jobs running, so the parent's end says nothing.
    """
    if not (callers := _callers()):
        return

    def look() -> None:
        while all(_began(pid) == began for pid, began in callers.items()):
            time.sleep(_LOOK_EVERY_S)
        print("beyond-ram: the process that asked for this run is gone", file=sys.stderr, flush=True)
        os._exit(1)

    # No signal is for this thread: the watcher takes those that it has blocked, and would miss them.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    threading.Thread(target=look, daemon=True).start()
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def below_snakemake() -> bool:
    """Whether a Snakemake has started this process."""
    return bool(_callers())


def restore_threads() -> None:
    """Give this process's environment the variables of threads that the Snakemake above it was started with.

    A user's own call of the program has no other: numpy and PyTorch would else be weighed with one thread.
    """
    if not (callers := _callers()):
        return
    entries = (entry.partition(b"=") for entry in _read(next(iter(callers)), "environ").split(b"\0"))
    given = {os.fsdecode(name): os.fsdecode(value) for name, _, value in entries}
    for name in _THREADS:
        os.environ.pop(name, None)
        if name in given:
            os.environ[name] = given[name]


def _callers() -> dict[int, bytes]:
    """Every Snakemake above this process, the nearest first, and when each began."""
    callers, pid = {}, os.getppid()
    while pid > 1 and (began := _began(pid)):
        words = [Path(os.fsdecode(word)).name for word in _read(pid, "cmdline").split(b"\0")[:3]]
        if "snakemake" in (words[:2] if words[1:2] != ["-m"] else words[2:]):
            callers[pid] = began
        pid = int(_stat(pid)[1])
    return callers


def _began(pid: int) -> bytes:
    """When a process began, which tells it from a later one of the same number; empty for one that has ended."""
    fields = _stat(pid)
    return fields[19] if fields and fields[0] not in (b"Z", b"X") else b""


def _stat(pid: int) -> list[bytes]:
    return _read(pid, "stat").rpartition(b") ")[2].split()


def _read(pid: int, name: str) -> bytes:
    """A file below /proc/PID; empty for a process that is gone, or not ours to read."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
