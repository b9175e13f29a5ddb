"""Times: the cost of the watcher to a workload and to itself, and the rate of a program that grows.

They need a quiet minute, and nothing else in other processes.

Eight processes hold 4 GB together and work. Blocks with and without sampling alternate in one run, so that memory,
machine and neighbours are the same. The CPU times of one fixed piece of work are compared.
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

import numpy as np
import pytest
from scipy import stats

from beyond_ram.watch import targets
from beyond_ram.watch.sampler import Sampler

from ..conftest import PYTHON

pytestmark = [
    pytest.mark.slow,
    pytest.mark.end_to_end,
    pytest.mark.release,
    pytest.mark.skipif("PYTEST_XDIST_WORKER" in os.environ, reason="run `pytest -m '' -n 0 tests/watch/times`"),
]

MB = 1_000_000
PROCESSES, HELD_BYTES = 8, 4_000_000_000
INTERVAL_S, BLOCK_S, PAIRS = 0.05, 0.3, 32
MAX_RATIO = 1.02
"""The limit for the ratio of the workload's CPU times, watched to alone."""
MAX_SHARE = 0.01
"""The share of one core that the sampler may use."""
UNIT = struct.Struct("=d")
WORK = f"""
import mmap, os, struct, sys, time
for _ in range({PROCESSES} - 1):
    if os.fork() == 0:
        break
size = {HELD_BYTES} // {PROCESSES} // 4096 * 4096
memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, size, 4096):
    memory[at] = 1
os.write(int(sys.argv[1]), struct.pack('=d', 0))
while True:
    began, x = time.process_time(), 0
    for at in range(0, 16_000_000, 400):
        x += memory[at]
    os.write(int(sys.argv[1]), struct.pack('=d', time.process_time() - began))
    time.sleep(0.03)
"""


def test_watching_costs_little(tmp_path, pipe):
    """Blocks with and without sampling come in pairs, in random order. Of shares and pauses the first tenth counts:
    other load only adds to them."""
    fcntl.fcntl(pipe[1], fcntl.F_SETPIPE_SZ, 1 << 20)  # large enough for all writes: the workload never waits
    with subprocess.Popen([*PYTHON, WORK, str(pipe[1])], pass_fds=[pipe[1]], start_new_session=True) as work:
        try:
            for _ in range(PROCESSES):
                assert UNIT.unpack(os.read(pipe[0], UNIT.size))
            tree = targets.Followed(targets.processes([work.pid]))
            sampler = Sampler(tmp_path / "s.csv", time.monotonic(), tree)
            _block(sampler, pipe[0], 5)  # new processes are read more often; then memory does not change
            chance = random.Random(5)
            pairs = [
                {watched: _block(sampler if watched else None, pipe[0]) for watched in chance.sample((True, False), 2)}
                for _ in range(PAIRS)
            ]
            last = sampler.sample()
            sampler.close()
        finally:
            os.killpg(work.pid, signal.SIGKILL)
    assert last and last["rss_bytes"] > HELD_BYTES and last["processes"] == PROCESSES
    _, shares, pauses = zip(*(pair[True] for pair in pairs), strict=True)
    share, apart_s = (statistics.quantiles(values, n=10)[0] for values in (shares, pauses))
    ratios = [pair[True][0] / pair[False][0] for pair in pairs]
    low, high = stats.bootstrap((ratios,), np.median, rng=7, method="percentile").confidence_interval
    summary = f"CPU time watched / alone: {statistics.median(ratios):.4f} [{low:.4f}, {high:.4f}], n = {PAIRS} pairs"
    print(f"{summary}; share of a core {share:.4f}, {apart_s:.3f} s apart", file=sys.stderr)
    assert share < MAX_SHARE
    assert apart_s < 0.15, "it keeps within its share by sampling too rarely"
    if low <= MAX_RATIO <= high:
        pytest.skip(f"not shown: what else this machine does hides {MAX_RATIO:g} times: {summary}")
    assert high < MAX_RATIO


def _block(sampler, units, seconds=BLOCK_S):
    """Sample for some seconds as `watch` does at 50 ms, or wait. Return the median CPU time of a unit of work, the
    share of a core that this process used, and the seconds from sample to sample."""
    os.read(units, 1 << 20)
    began, began_cpu_s, samples = time.monotonic(), time.process_time(), 0
    while time.monotonic() < began + seconds:
        if sampler:
            sampler.sample()
            samples += 1
        time.sleep(sampler.interval_s(INTERVAL_S) if sampler else seconds)
    took_s, spent_s = time.monotonic() - began, time.process_time() - began_cpu_s
    done = [cpu_s for (cpu_s,) in UNIT.iter_unpack(os.read(units, 1 << 20))]
    return statistics.median(done), spent_s / took_s, took_s / max(samples, 1)


# What it keeps follows the clock, however unevenly it runs on a busy machine.
GROWING = """
import time
kept, began = [], time.monotonic()
while (passed_s := time.monotonic() - began) < 3:
    kept += [bytearray(1_000_000) for _ in range(int(40 * passed_s) - len(kept))]
    time.sleep(0.01)
"""


def test_growing_program_has_its_rate(watched):
    growth = watched(GROWING)["growth"]
    assert 0.4 < growth["bytes_per_s"] / (40 * MB) < 2.5
    assert growth["ceiling_bytes"] > growth["now_bytes"] > 60 * MB
