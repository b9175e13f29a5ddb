"""The Snakemakes above a process: end with them, and restore the user's thread settings.

Every script of the workflow needs this.
"""

import os
import signal
import sys
import threading
import time
from pathlib import Path

_LOOK_EVERY_S = 0.5
# Variables that Snakemake sets for every command to the threads of its rule (in its shell.py), overriding the user's.
_THREADS = (
    "OMP_NUM_THREADS",
    "GOTO_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def end_with_snakemake() -> None:
    """End this process, and everything that it guards, soon after the Snakemake that started it ends.

    A killed Snakemake leaves the shells of its jobs running, so watching the parent process is not enough.
    """
    if not (callers := _callers()):
        return

    def look() -> None:
        while all(_began(pid) == began for pid, began in callers.items()):
            time.sleep(_LOOK_EVERY_S)
        print("beyond-ram: the process that asked for this run is gone", file=sys.stderr, flush=True)
        os._exit(1)

    # Block all signals in this thread. Otherwise the watcher could miss signals that it waits for.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    threading.Thread(target=look, daemon=True).start()
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def below_snakemake() -> bool:
    """Whether a Snakemake started this process."""
    return bool(_callers())


def restore_threads() -> None:
    """Set the thread variables of this process to the values with which the Snakemake above it was started.

    These are the values that the program has when the user calls it. Otherwise numpy and PyTorch would run with one
    thread.
    """
    if not (callers := _callers()):
        return
    entries = (entry.partition(b"=") for entry in _read(next(iter(callers)), "environ").split(b"\0"))
    original = {os.fsdecode(name): os.fsdecode(value) for name, _, value in entries}
    for name in _THREADS:
        os.environ.pop(name, None)
        if name in original:
            os.environ[name] = original[name]


def _callers() -> dict[int, bytes]:
    """Every Snakemake above this process, nearest first, with its start time."""
    callers, pid = {}, os.getppid()
    while pid > 1 and (began := _began(pid)):
        words = [Path(os.fsdecode(word)).name for word in _read(pid, "cmdline").split(b"\0")[:3]]
        if "snakemake" in (words[:2] if words[1:2] != ["-m"] else words[2:]):
            callers[pid] = began
        pid = int(_stat(pid)[1])
    return callers


def _began(pid: int) -> bytes:
    """Start time of a process, which distinguishes it from a later one with the same id; empty if it has ended."""
    fields = _stat(pid)
    return fields[19] if fields and fields[0] not in (b"Z", b"X") else b""


def _stat(pid: int) -> list[bytes]:
    return _read(pid, "stat").rpartition(b") ")[2].split()


def _read(pid: int, name: str) -> bytes:
    """A file below /proc/PID; empty if the process has ended or belongs to another user."""
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""
