"""`beyond-ram make`: a program fills an empty folder, which then replaces the old one atomically."""

import argparse
import contextlib
import signal
import subprocess
from pathlib import Path

_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class _FailedError(Exception):
    """The program failed, so nothing is replaced."""


def add_to(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser(
        "make",
        help="run a program that fills a folder (called by rules)",
        usage="beyond-ram make --out DIR -- PROGRAM…",
        description="Run PROGRAM with `--out FOLDER` appended. FOLDER is empty, and replaces "
        "DIR when the program exits with 0. A DIR that beyond-ram has not made is never replaced.",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to make or replace")
    parser.add_argument("command", nargs="+", metavar="PROGRAM", help="the program and its arguments, after --")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..folders import replaced

    status = 0
    with contextlib.suppress(_FailedError), replaced(arguments.out) as folder:
        if status := _status([*arguments.command, "--out", str(folder)]):
            raise _FailedError
    return status


def _status(command: list[str]) -> int:
    """Run a program and return its exit status. Signals to this process are passed on."""
    waiting: list[int] = []
    child: subprocess.Popen[bytes] | None = None

    def pass_on(number: int, _: object) -> None:
        if child is None:
            waiting.append(number)
        else:
            child.send_signal(number)

    heeded = [number for number in _PASSED_ON if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, pass_on) for number in heeded}
    try:
        # The program inherits the lock of the folder, so the folder stays locked until it ends, even if we are killed.
        child = subprocess.Popen(command, close_fds=False)
        for number in waiting:
            child.send_signal(number)
        status = child.wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status
