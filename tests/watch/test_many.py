"""Very many processes: all are seen and ended. `PROCESSES=20000` starts that many, with 61 KB of the kernel each."""

import contextlib
import os
import platform
import struct
import time
from pathlib import Path

import pandas as pd
import pytest

from .conftest import needs_group

# More than 820, which the kernel lists in its first page of children.
PROCESSES = int(os.environ.get("PROCESSES", 1000))
START = """
import os, signal, sys
for _ in range(int(sys.argv[2])): os.posix_spawn(sys.argv[1], [sys.argv[1]], {})
signal.pause()
"""
CHURN = """
import os, sys, time
program, until, count = sys.argv[1], time.monotonic() + float(sys.argv[2]), 0
while time.monotonic() < until or count <= 500:
    for pid in [os.posix_spawn(program, [program], {}) for _ in range(8)]:
        os.waitpid(pid, 0)
        count += 1
print(count)
sys.exit(7)
"""
# A user without other processes: the kernel counts them by user, so that the limit holds only for these.
BOMBER, AT_MOST = 54321, 100
BOMB = """
import os, resource, signal, sys, time
resource.setrlimit(resource.RLIMIT_NPROC, (int(sys.argv[2]),) * 2)
os.setresgid(*[int(sys.argv[1])] * 3)
os.setresuid(*[int(sys.argv[1])] * 3)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
held = []
while True:
    try:
        if os.fork() == 0:
            os.setsid()
            held.append(b"x" * int(sys.argv[3]))
    except OSError:  # the limit is reached; an ended process is replaced at once
        time.sleep(0.05)
"""


def smallest(program, code):
    """Write a program of some instructions, in one page."""
    if platform.machine() != "x86_64":
        pytest.skip("the program is written in x86-64's machine code")
    at = 0x400000
    head = struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, at + 120, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    segment = struct.pack("<IIQQQQQQ", 1, 5, 0, at, at, 120 + len(code), 120 + len(code), 4096)
    program.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(9) + head + segment + code)
    program.chmod(0o755)
    return program


@pytest.fixture
def pause(tmp_path):
    """Write a program that calls pause() in a loop."""
    return smallest(tmp_path / "pause", b"\xb8\x22\x00\x00\x00\x0f\x05\xeb\xf7")


@pytest.mark.slow
def test_all_processes_are_seen_and_a_timeout_kills_them(watched, pause):
    record = watched(START, str(pause), str(PROCESSES), timeout_s=4)
    assert record["peak"]["processes"] == PROCESSES + 1
    assert (record["outcome"], record["completed_work"]) == ("timed_out", False)
    assert record["left_running"] == []
    assert not processes(lambda entry: (entry / "exe").readlink() == pause)


@pytest.mark.slow
def test_children_may_end_while_they_are_read(watched, tmp_path):
    """Some thousand children a second live for a fraction of a millisecond, at a thousand samples a second."""
    program = smallest(tmp_path / "exit", b"\xb8\x3c\x00\x00\x00\x31\xff\x0f\x05")
    with (tmp_path / "said").open("w+b") as output:
        record = watched(CHURN, str(program), "2", interval_ms=1, stdout=output.fileno())
        output.seek(0)
        assert int(output.read()) > 500
    assert (record["outcome"], record["exit_status"]) == ("failed", 7)
    assert record["missing"] == []
    assert record["left_running"] == []
    samples = pd.read_csv(tmp_path / "out" / "samples.csv")
    assert len(samples) == record["sampler"]["lines"] > 20
    assert samples["rss_bytes"].gt(0).all()


def processes(wanted):
    """Return the processes whose folder in /proc is wanted. They may end meanwhile."""
    pids = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if wanted(entry):
                pids.append(int(entry.name))
    return pids


@needs_group
@pytest.mark.skipif(os.getuid() != 0, reason="becomes another user, which needs root")
@pytest.mark.parametrize(
    ("held_bytes", "limit_bytes", "timeout_s", "outcome"),
    [
        pytest.param(0, 4_000_000_000, 1, "timed_out", marks=pytest.mark.slow),
        (2_000_000, 100_000_000, 60, "killed_at_limit"),
    ],
)
def test_fork_bomb_is_killed_to_its_last_process(watched, held_bytes, limit_bytes, timeout_s, outcome):
    """Each process has a session of its own and ignores every signal but SIGKILL."""
    begun = time.monotonic()
    words = (BOMB, str(BOMBER), str(AT_MOST), str(held_bytes))
    record = watched(*words, memory_limit_bytes=limit_bytes, timeout_s=timeout_s)
    took_s = time.monotonic() - begun
    left = processes(lambda entry: entry.stat().st_uid == BOMBER and (entry / "cmdline").read_bytes())  # no zombies
    for pid in left:
        os.kill(pid, 9)
    assert not left
    assert record["outcome"] == outcome
    assert record["left_running"] == []
    assert took_s < 30
