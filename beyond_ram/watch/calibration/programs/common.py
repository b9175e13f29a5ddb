"""Phases and memory of the calibration programs. Standard library only."""

import mmap
import os
import signal
from collections.abc import Callable

import phases

MB = 1_000_000
PAGE = mmap.PAGESIZE

signal.alarm(120)  # a program that hangs ends as failed
phases.LONGEST_S = 120.0


def phase(name: str) -> None:
    """Begin a phase and pause until its first reading, which so precedes all growth."""
    phases.mark("phase", phase=name)


def whole_pages(size_mb: float) -> int:
    return round(size_mb * MB / PAGE) * PAGE


def touch(memory: mmap.mmap, size: int, step: int = PAGE) -> None:
    """Write one byte into every page."""
    for at in range(0, size, step):
        memory[at] = 1


def private(size: int) -> mmap.mmap:
    return mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


def by_workers(count: int, glance: Callable[[], None], look: Callable[[], None], fill: Callable[[], None]) -> None:
    """Fork `count` workers. Each runs `look` in phase `filling` and ends after phase `full`; the parent runs `fill`.

    Each worker runs `glance` first, so that its own code is resident before the measurement.
    """
    start, starting = os.pipe()
    ready, done = os.pipe()
    end, ending = os.pipe()
    for _ in range(count):
        if os.fork() == 0:
            os.close(ending)
            glance()
            os.write(done, b".")
            os.read(start, 1)
            look()
            os.write(done, b".")
            os.read(end, 1)  # returns when the parent closes its end
            os._exit(0)
    for _ in range(count):
        os.read(ready, 1)
    phase("filling")
    fill()
    os.write(starting, b"." * count)
    for _ in range(count):
        os.read(ready, 1)
    phase("full")
    os.close(ending)
    for _ in range(count):
        os.wait()
