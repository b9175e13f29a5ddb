"""Phases and events that a program reports to `beyond-ram watch`. Standard library only; may be copied as one file.

    with phase("tokenise"):
        …

writes an event if a watcher listens (it sets BEYOND_RAM_EVENTS). Samples then have the name, and the phase has its own
peaks. Without a watcher it only reads the environment. Times are CLOCK_MONOTONIC, which all processes of a machine
share.
"""

from __future__ import annotations  # the interpreter of a stack may be older than ours

import os
import sys
import time
from types import TracebackType

VARIABLE = "BEYOND_RAM_EVENTS"
# A file beside the events, as long as the part of them that the watcher has read, with the memory after it.
READ = ".read"
POLL_S, LONGEST_S = 0.001, 5.0


class phase:  # noqa: N801 (it reads as a function)
    """A phase of the program, of all its processes and threads. When it ends, the latest phase that still runs
    continues."""

    _running: list[phase] = []  # noqa: RUF012

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> phase:
        self._running.append(self)
        emit("phase", phase=self.name)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._running.remove(self)  # not always the last one: threads end their phases in any order
        emit("phase", phase=self._running[-1].name if self._running else "")


def mark(event: str, **fields: object) -> float:
    """Report an event, and pause until a watcher, if any, has sampled the memory here. Returns the seconds."""
    return hold(emit(event, **fields))


def number(label: str, value: float, unit: str, better: str = "neither", exact: bool = False) -> None:
    """Report a number of this run; one that is better when `lower` or `higher` is compared.

    Raises ValueError for another direction, and for a value that is no finite number.
    """
    if better not in ("lower", "higher", "neither"):
        raise ValueError(f"number {label!r}: better is {better!r}, and has to be lower, higher or neither")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value - value != 0:
        raise ValueError(f"number {label!r} is {value!r}, and has to be a finite int or float")
    emit("metric", label=label, value=value, unit=unit, better=better, exact=exact)


def not_applicable(reason: str) -> None:
    """Exit with status 0 because this cell cannot run here; the one-line `reason` goes into the record."""
    emit("not_applicable", reason=reason)
    sys.exit(0)


def hold(end: int | None) -> float:
    """Pause until the watcher has read the events up to this end, and the memory. Returns the seconds of the pause."""
    if end is None:
        return 0.0
    path, began = os.environ[VARIABLE] + READ, time.monotonic()
    try:
        while os.stat(path).st_size < end and time.monotonic() < began + LONGEST_S:  # noqa: PTH116 (one file, no imports)
            time.sleep(POLL_S)
    except OSError:  # nobody reads
        return 0.0
    return time.monotonic() - began


def emit(event: str, **fields: object) -> int | None:
    """Write an event. Returns where it ends in the file, in bytes, or None if no watcher listens.

    An error is printed to standard error, not raised; then it returns 0.
    """
    path = os.environ.get(VARIABLE)
    if not path:
        return None
    import json  # only if a watcher listens

    try:
        line = json.dumps({"monotonic_s": time.monotonic(), "event": event, "pid": os.getpid(), **fields}, default=str)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.write(descriptor, line.encode() + b"\n")  # one write, so that lines of several processes do not mix
            return os.lseek(descriptor, 0, os.SEEK_CUR)
        finally:
            os.close(descriptor)
    except (OSError, ValueError) as error:
        print(f"the event {event!r} was not recorded: {error}", file=sys.stderr)
        return 0
