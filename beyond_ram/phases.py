"""Phases and events that a program reports to `beyond-ram watch`. Standard library only; may be copied as one file.

    with phase("tokenise"):
        …

writes an event where a watcher listens (it has set BEYOND_RAM_EVENTS): the samples carry the name, and the phase has
peaks of its own. Elsewhere it is one look at the environment. Times are CLOCK_MONOTONIC, which all processes of a
machine share.
"""

import os
import sys
import time
from types import TracebackType

VARIABLE = "BEYOND_RAM_EVENTS"
# Pause after a mark, so that a sampler outside sees the memory at the mark and not later.
HOLD_S = 0.1


class phase:  # noqa: N801 (it reads as a function)
    """A phase of the program, of all its processes and threads. When it ends, the latest that still runs goes on."""

    _running: "list[phase]" = []  # noqa: RUF012

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> "phase":
        self._running.append(self)
        emit("phase", phase=self.name)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._running.remove(self)  # not the last: threads end theirs in any order
        emit("phase", phase=self._running[-1].name if self._running else "")


def mark(event: str, **fields: object) -> None:
    """Report an event; if somebody listens, pause for 0.1 s so that the memory right here is sampled."""
    if emit(event, **fields):
        time.sleep(HOLD_S)


def emit(event: str, **fields: object) -> bool:
    """An event; whether somebody listens. Raises nothing for what cannot be written: that goes to standard error."""
    path = os.environ.get(VARIABLE)
    if not path:
        return False
    import json  # not before somebody listens

    try:
        line = json.dumps({"monotonic_s": time.monotonic(), "event": event, "pid": os.getpid(), **fields}, default=str)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.write(descriptor, line.encode() + b"\n")  # one write: lines of several processes do not mix
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        print(f"the event {event!r} was not recorded: {error}", file=sys.stderr)
    return True
