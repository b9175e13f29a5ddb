"""Processes and mounts of a killed session are removed by the next."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from . import leftovers

SESSION = """
import os, subprocess, sys
sys.path.insert(0, sys.argv[1])
import leftovers
leftovers.mark()
child = subprocess.Popen(["sleep", "600"], start_new_session=True)
print(child.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def session():
    """Start a process that is a session, and yield it with the pid of its child."""
    command = [sys.executable, "-c", SESSION, str(Path(__file__).parent)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        yield process, int(process.stdout.readline())
        process.kill()


def lives(pid):
    return bool(leftovers._began(pid))


def test_only_processes_of_killed_sessions_are_killed(session):
    process, child = session
    leftovers.remove()
    assert lives(child), "a process of a living session was killed"
    process.kill()
    process.wait()
    assert lives(child)
    leftovers.remove()
    assert not lives(child)


@pytest.mark.skipif(os.getuid() != 0, reason="mounts a file system, which needs root")
def test_only_mounts_of_killed_sessions_are_removed(tmp_path):
    ended = subprocess.Popen(["true"])
    ended.wait()
    places = {name: tmp_path / "pytest-of-me" / name / "disk" for name in ("pytest-1", "pytest-2")}
    for place, pid in zip(places.values(), (ended.pid, os.getpid()), strict=True):
        place.mkdir(parents=True)
        (place.parent / ".lock").write_text(str(pid))
        if subprocess.run(["mount", "-t", "tmpfs", "tmpfs", place], capture_output=True).returncode:
            pytest.skip("no file system can be mounted here")
    try:
        leftovers.remove()
        assert [place.is_mount() for place in places.values()] == [False, True]
    finally:
        subprocess.run(["umount", "-q", *places.values()], check=False, capture_output=True)
