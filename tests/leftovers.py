"""Clean up after a killed test session: the next one ends its processes and unmounts its file systems."""

import contextlib
import os
import re
import select
import signal
import subprocess
from pathlib import Path

_ENDS_WITHIN_S = 10
# Every process of a session has the session's pid and start time in its environment.
VARIABLE = "BEYOND_RAM_TEST_SESSION"
_OWNER = re.compile(rf"{VARIABLE}=(\d+)-(\d+)\0".encode())
# While pytest runs, a file there has its pid.
_FOLDER = re.compile(r".*/pytest-of-[^/]+/pytest-\d+(?=/)")


def mark():
    """Put this session's mark into the environment of the processes that it starts."""
    os.environ[VARIABLE] = f"{os.getpid()}-{_began(os.getpid())}"


def remove():
    """End processes and mounts of killed sessions."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            owner = _OWNER.search((process / "environ").read_bytes() + b"\0")
            if owner and _began(int(owner[1])) != owner[2].decode():
                _end(int(process.name))
    for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
        place = line.split()[1]
        folder = _FOLDER.match(place)
        if folder and not _runs(Path(folder[0], ".lock")):
            subprocess.run(["umount", "-l", place], check=False)


def _end(pid):
    """Kill a process, and wait until it has ended and released what it holds."""
    process = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(process, signal.SIGKILL)
        select.select([process], [], [], _ENDS_WITHIN_S)
    finally:
        os.close(process)


def _runs(lock):
    """Return whether the process in a lock of pytest is alive."""
    try:
        return bool(_began(int(lock.read_text())))
    except (OSError, ValueError):
        return False


def _began(pid):
    """Return the start of a process in ticks since boot, or an empty text if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]
