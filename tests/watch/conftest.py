"""Shared by the tests of the watcher: small programs run by a bare interpreter."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from beyond_ram.cli import main
from beyond_ram.watch import WatchOptions, groups, watch

PYTHON = [sys.executable, "-I", "-S", "-B", "-c"]
Watch = Callable[..., dict[str, Any]]


def no_group() -> str | None:
    """Return the reason why no memory group can be made here, or None."""
    try:
        groups.make().remove()
    except groups.GroupError as error:
        return str(error)
    return None


# Reads a file into locked memory: the kernel cannot take back what it charges for it.
LOCKS = """
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
file, size = os.open(sys.argv[1], os.O_RDONLY), os.path.getsize(sys.argv[1])
place = libc.mmap(None, ctypes.c_size_t(size), 1, 1, file, ctypes.c_long(0))
assert not libc.mlock(ctypes.c_void_p(place), ctypes.c_size_t(size))
time.sleep(0.2)
"""

needs_group = pytest.mark.skipif(no_group() is not None, reason=f"no memory cgroup can be made here: {no_group()}")


@pytest.fixture
def watched(tmp_path: Path) -> Watch:
    """Return a function that runs a program text under the watcher."""

    def run(program: str, *arguments: str, **how: Any) -> dict[str, Any]:
        return watch([*PYTHON, program, *arguments], tmp_path / "out", WatchOptions(**how))

    return run


@pytest.fixture
def refused(capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return a function that calls `beyond-ram` with bad arguments, checks status 2, and gives the message."""

    def call(*words: str) -> str:
        try:
            status = main(list(words))
        except SystemExit as ended:  # by the parser
            status = int(str(ended.code))
        captured = capfd.readouterr()
        assert (status, captured.out) == (2, "")
        return captured.err

    return call


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Yield a pipe with an inheritable write end, which stays open as long as a process that inherited it lives."""
    read, write = os.pipe()
    os.set_inheritable(write, True)
    yield read, write
    for descriptor in (read, write):
        try:
            os.close(descriptor)
        except OSError:
            continue


def read_within(descriptor: int, seconds: float) -> bytes:
    """Return the next bytes of a pipe, b"" at its end; fail if neither comes in time."""
    ready, _, _ = select.select([descriptor], [], [], seconds)
    assert ready, f"nothing within {seconds} s"
    return os.read(descriptor, 65536)


@contextmanager
def only_child(code: str) -> Iterator[int]:
    """Run code in the only child of a process, and yield the id of that process when the code has run.

    The test process itself has many more children: the stacks that wait for other tests.
    """
    program = "import os, signal, sys\nif os.fork(): os.wait()\n"
    program += "else: exec(sys.argv[1]); print(flush=True); signal.pause()"
    command = [*PYTHON, program, code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as parent:
        try:
            assert parent.stdout and parent.stdout.readline()
            yield parent.pid
        finally:
            os.killpg(parent.pid, signal.SIGKILL)
