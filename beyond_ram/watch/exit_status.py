"""The end of a command: its status, or the name of the signal that ended it."""

import signal
from typing import Any

_FIRST, _LAST = int(signal.SIGRTMIN), int(signal.SIGRTMAX)


def _named(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN+{number - _FIRST}" if _FIRST < number < _LAST else f"SIG{number}"


# Made beforehand, so that nothing is left to go wrong when a command has ended.
_NAMES = {number: _named(number) for number in range(1, 128)}
_NUMBERS = {name: number for number, name in _NAMES.items()}


def signal_name(number: int) -> str:
    """SIGTERM; SIGRTMIN+6 for one of those that have no name of their own."""
    return _NAMES[number]


def as_a_shell(record: dict[str, Any]) -> int:
    """The exit status of a shell that ran the command: 128 and the signal's number where one ended it."""
    status: int | None = record["exit_status"]
    return 128 + _NUMBERS[record["signal"]] if status is None else status
