"""What the calibration programs share: phases, and a way to hold still. Standard library only."""

import json
import mmap
import os
import signal
import time

MB = 1_000_000
PAGE = mmap.PAGESIZE
# Long enough for a reading on a machine so busy that the watcher waits for a core.
HOLD_S = 0.5

signal.alarm(120)  # a program that hangs ends as failed


def emit(event: str, **fields: object) -> None:
    path = os.environ.get("BEYOND_RAM_EVENTS")
    if path:
        line = json.dumps({"monotonic_s": time.monotonic(), "event": event, "pid": os.getpid(), **fields})
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.write(descriptor, line.encode() + b"\n")
        os.close(descriptor)


def phase(name: str, hold_s: float = HOLD_S) -> None:
    """A phase begins, with a pause in which nothing changes, so that what follows is all that grows in it."""
    emit("phase", phase=name)
    time.sleep(hold_s)


def whole_pages(size_mb: float) -> int:
    return round(size_mb * MB / PAGE) * PAGE


def touch(memory: mmap.mmap, size: int, step: int = PAGE) -> None:
    """Write one byte into every page."""
    for at in range(0, size, step):
        memory[at] = 1


def private(size: int) -> mmap.mmap:
    return mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
