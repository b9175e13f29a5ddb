"""The end of a command: its status, or the name of the signal that ended it."""

import signal
from typing import Any

_FIRST, _LAST = int(signal.SIGRTMIN), int(signal.SIGRTMAX)


def signal_name(number: int) -> str:
    """SIGTERM; SIGRTMIN+6 for one of those that have no name of their own."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN+{number - _FIRST}" if _FIRST < number < _LAST else f"SIG{number}"


def signal_number(name: str) -> int:
    """What `signal_name` has named."""
    first, _, further = name.partition("+")
    if first in signal.Signals.__members__:
        return signal.Signals[first].value + int(further or 0)
    return int(name.removeprefix("SIG"))


def as_a_shell(record: dict[str, Any]) -> int:
    """The exit status of a shell that ran the command: 128 and the signal's number where one ended it."""
    status: int | None = record["exit_status"]
    return 128 + signal_number(record["signal"]) if status is None else status
