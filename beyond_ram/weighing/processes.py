"""Every process that weighing starts, the watched one apart: below a guard, so that all of it ends with weighing."""

import contextlib
import math
import os
import select
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..watch import procfs
from ..watch.command import Command, Order
from ..watch.missing import Missing

_LOOK_EVERY_S = 0.5
# How long what is asked to end may take.
_PATIENCE_S = 5.0
_LISTEN_EVERY_S = 0.1


@contextlib.contextmanager
def beside(words: Sequence[str], stdout: int, environment: Mapping[str, str] | None = None) -> Iterator[Command]:
    """Run a command while the block runs; then it is asked to end, and soon killed with all that it has started.

    Raises OSError where it cannot be started.
    """
    mask = frozenset(int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, []))
    order = Order(words, os.environ if environment is None else environment, mask=mask, stdout=stdout)
    command = Command(order, Missing())
    try:
        command.start()
        yield command
        command.send_signal(signal.SIGTERM)
        _wait(command, time.monotonic() + _PATIENCE_S)
    finally:
        command.close()


def run(words: Sequence[str]) -> tuple[int, bytes]:
    """Run a command to its end; its status, negative for a signal, and what it wrote to standard output.

    Raises OSError where it cannot be started, GuardError where its guard was killed.
    """
    with tempfile.TemporaryFile() as output:
        with beside(words, output.fileno()) as command:
            _wait(command, math.inf)
        output.seek(0)
        assert command.returncode is not None
        return command.returncode, output.read()


def _wait(command: Command, until_s: float) -> None:
    while command.returncode is None and time.monotonic() < until_s:
        # Without a guard there are no replies.
        select.select([command.replies] if command.replies >= 0 else [], [], [], _LISTEN_EVERY_S)
        command.listen()
        command.raise_fatal()


def ending(status: int) -> str:
    """How a command ended, in words."""
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"


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


def _callers() -> dict[int, bytes]:
    """Every Snakemake above this process, and when each began."""
    found, pid = {}, os.getppid()
    while pid > 1 and (began := _began(pid)):
        words = [Path(os.fsdecode(word)).name for word in (procfs.read(pid, "cmdline") or b"").split(b"\0")[:3]]
        if "snakemake" in (words[:2] if words[1:2] != ["-m"] else words[2:]):
            found[pid] = began
        pid = int(_stat(pid)[1])
    return found


def _began(pid: int) -> bytes:
    """When a process began, which tells it from a later one of the same number; empty for one that has ended."""
    fields = _stat(pid)
    return fields[19] if fields and fields[0] not in (b"Z", b"X") else b""


def _stat(pid: int) -> list[bytes]:
    return (procfs.read(pid, "stat") or b"").rpartition(b") ")[2].split()
