"""What the instrument costs: its own CPU time, and the workload's.

Eight processes hold 4 GB between them and work. Blocks with and without sampling alternate within one run, so that
memory, machine and neighbours are the same; what is compared is the CPU time of one fixed piece of work.
"""

import fcntl
import os
import random
import signal
import statistics
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from beyond_ram.watch.sampler import Sampler

from .conftest import PYTHON, Watch, read_within

PROCESSES, HELD = 8, 4_000_000_000
UNIT = struct.Struct("=dd")
WORK = f"""
import mmap, os, signal, struct, sys, time
out, seconds = int(sys.argv[1]), float(sys.argv[2])
for _ in range({PROCESSES} - 1):
    if os.fork() == 0:
        break
size = {HELD} // {PROCESSES} // 4096 * 4096
memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, size, 4096):
    memory[at] = 1
ready = time.monotonic()
os.write(out, struct.pack('=dd', ready, 0.0))
end = ready + seconds
while time.monotonic() < end:
    began, x = time.process_time(), 0
    for at in range(0, 16_000_000, 400):
        x += memory[at]
    os.write(out, struct.pack('=dd', time.monotonic(), time.process_time() - began))
    time.sleep(0.03)
"""


@pytest.mark.slow
def test_at_50_ms_over_8_processes_it_takes_less_than_1_percent_of_a_core(watched: Watch) -> None:
    # The least of up to three runs: what else runs on the machine can only add.
    duties = []
    for _ in range(3):
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.set_inheritable(quiet, True)
        record = watched(WORK, str(quiet), "15", interval_ms=50)
        os.close(quiet)
        assert record["peak"]["rss_bytes"] > HELD
        assert record["peak"]["processes"] == PROCESSES
        assert record["sampler"]["interval_used_ms"] < 100
        duties.append(record["sampler"]["duty_cycle"])
        if duties[-1] < 0.01:
            return
    pytest.fail(f"duty cycles {duties}")


@pytest.mark.slow
def test_the_workload_takes_the_same_cpu_time_watched_or_not(tmp_path: Path, pipe: tuple[int, int]) -> None:
    pairs, block_s = 60, 0.5
    fcntl.fcntl(pipe[1], fcntl.F_SETPIPE_SZ, 1 << 20)  # holds all that is written: the workload never waits
    command = [*PYTHON, WORK, str(pipe[1]), "120"]
    with subprocess.Popen(command, pass_fds=[pipe[1]], start_new_session=True) as work:
        try:
            data = b""
            while len(data) < PROCESSES * UNIT.size:
                data += read_within(pipe[0], 60)
            sampler = Sampler(tmp_path / "s.csv", time.monotonic(), os.getpid())
            blocks = _alternate(sampler, pairs, block_s)
            sampler.close()
            os.set_blocking(pipe[0], False)
            data += _drain(pipe[0])
        finally:
            os.killpg(work.pid, signal.SIGKILL)
    units = [UNIT.unpack_from(data, at) for at in range(0, len(data) // UNIT.size * UNIT.size, UNIT.size)]
    ratio, low, high = _ratio(units, blocks)
    print(f"CPU time watched / alone: {ratio:.4f} [{low:.4f}, {high:.4f}], n = {pairs} pairs", file=sys.stderr)
    assert low < 1.01, "more than 1 % dearer, beyond the noise of this machine"


def _alternate(sampler: Sampler, pairs: int, block_s: float) -> list[tuple[float, float, bool]]:
    """Blocks of time with and without sampling at 50 ms, in random order within each pair."""
    chance, blocks = random.Random(5), []
    for _ in range(pairs):
        for watched in chance.sample((True, False), 2):
            began = time.monotonic()
            while time.monotonic() < began + block_s:
                if watched:
                    sampler.sample()
                time.sleep(0.05)
            blocks.append((began, time.monotonic(), watched))
    return blocks


def _drain(descriptor: int) -> bytes:
    data = b""
    while True:
        try:
            more = os.read(descriptor, 1 << 20)
        except BlockingIOError:
            return data
        if not more:
            return data
        data += more


def _ratio(units: list[tuple[float, float]], blocks: list[tuple[float, float, bool]]) -> tuple[float, float, float]:
    """The median over pairs of the ratio of medians, with a 95 % bootstrap interval over pairs."""
    medians = []
    for began, ended, watched in blocks:
        inside = [cpu_s for at, cpu_s in units if began + 0.02 < at <= ended and cpu_s]
        medians.append((watched, statistics.median(inside)))
    ratios = []
    for one, other in zip(medians[::2], medians[1::2], strict=True):
        found = dict([one, other])
        ratios.append(found[True] / found[False])
    chance = random.Random(7)
    medians_of = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(2000))
    return statistics.median(ratios), medians_of[50], medians_of[1949]
