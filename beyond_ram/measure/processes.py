"""Start helper processes (not the watched one) below a guard, so that they end with the measuring."""

import contextlib
import math
import os
import select
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence

from ..watch.command import Command, Order
from ..watch.missing import Missing
from ..watch.reader import choose

# Seconds for a process to end after it was asked to.
_PATIENCE_S = 5.0
_LISTEN_EVERY_S = 0.1


def age_s() -> float:
    """Seconds since this process started; 0 if unknown."""
    reader = choose()
    started = reader.started(os.getpid())
    return 0.0 if started is None else max(0.0, reader.now() - started)


@contextlib.contextmanager
def beside(words: Sequence[str], stdout: int, environment: Mapping[str, str] | None = None) -> Iterator[Command]:
    """Run a command during the block. Then ask it to end, and kill it with all its children if it does not.

    Raises OSError if it cannot be started.
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
    """Run a command to its end. Return its exit status (negative for a signal) and its standard output.

    Raises OSError if it cannot be started, GuardError if its guard was killed.
    """
    with tempfile.TemporaryFile() as output:
        with beside(words, output.fileno()) as command:
            _wait(command, math.inf)
        output.seek(0)
        assert command.returncode is not None
        return command.returncode, output.read()


def _wait(command: Command, until_s: float) -> None:
    while command.returncode is None and time.monotonic() < until_s:
        # Without a guard there are no messages.
        select.select([command.replies] if command.replies >= 0 else [], [], [], _LISTEN_EVERY_S)
        command.listen()
        command.raise_fatal()


def ending(status: int) -> str:
    """How a command ended, in words."""
    return f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"


def commit() -> str | None:
    """The commit of the working tree, with `-dirty` if tracked files differ; None outside a repository.

    Raises RuntimeError if git was killed, because then the run may be damaged too.
    """
    describe = "git describe --always --dirty --abbrev=12 '--exclude=*' 2> /dev/null"
    status, output = run(["sh", "-c", f"exec {describe}"])
    if status < 0:
        raise RuntimeError(f"git describe ended with {ending(status)}")
    return None if status else output.decode().strip()
