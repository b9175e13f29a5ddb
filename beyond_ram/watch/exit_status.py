"""The end of a command: its exit status, or the name of the signal that ended it."""

import signal

from ..records.run_json import RunRecord

STOP = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
"""After these, nobody waits for what goes on; a scheduler kills some seconds later."""
# Computed at import, so that nothing can fail when a command has ended.
_NAMES = {number: f"SIG{number}" for number in range(1, 128)}
_NAMES |= {int(one): one.name for one in signal.Signals}
_NUMBERS = {name: number for number, name in _NAMES.items()}


def signal_name(number: int) -> str:
    """The name of a signal, such as SIGTERM, or SIG40 for one without a name of its own."""
    return _NAMES[number]


def as_a_shell(record: RunRecord) -> int:
    """The exit status that a shell would give: 128 plus the signal's number if a signal ended the command.

    Also 137 for a command that ended with 0 between a kill at its limit and that of all of it.
    """
    status: int | None = record["exit_status"]
    if status == 0 and record["outcome"] == "killed_at_limit":
        return 128 + signal.SIGKILL
    return 128 + _NUMBERS[str(record["signal"])] if status is None else status
