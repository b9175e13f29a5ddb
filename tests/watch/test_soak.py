"""A long run: nothing grows, nothing is lost. `SOAK=1`: a million samples in 24 hours, and minutes of children."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from beyond_ram.watch import WatchOptions, watch

from .conftest import record_in
from .soak import KINDS, SPIKE

FULL = bool(os.environ.get("SOAK"))
SAMPLES, HOURS, LINES = (1_000_000, 24.0, 20_000) if FULL else (24_000, 0.25, 400)
CHILDREN_S = 180 if FULL else 4
A_MINUTE = 5000
# The watcher's memory in a run of any length, in bytes: lines, which are copied while they are joined, and facts about
# the last 4,096 processes that ended. The rest belongs to the allocator.
A_LINE, OF_A_PROCESS, KEPT_PROCESSES, OF_ALLOCATOR = 150, 500, 4096, 500_000
# Starts this many children a minute, and prints its own counts of them.
CHILDREN = """
import json, os, resource, sys, time
seconds, a_minute, program = float(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
began, started, running = time.monotonic(), 0, set()
while (now := time.monotonic() - began) < seconds or running:
    while now < seconds and started < now * a_minute / 60:
        running.add(os.posix_spawn(program[0], program, {}))
        started += 1
    for pid in list(running):
        if os.waitpid(pid, os.WNOHANG)[0]:
            running.remove(pid)
    time.sleep(0.002)
used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps({"started": started, "cpu_s": sum(one.ru_utime + one.ru_stime for one in used),
                  "faults": sum(one.ru_minflt for one in used)}))
"""


@pytest.fixture(scope="module")
def long_run(tmp_path_factory):
    """Make a long run, and return its folder and the counts beside the watcher."""
    folder = tmp_path_factory.mktemp("soak") / "run"
    program = [sys.executable, "-m", "tests.watch.soak", *map(str, (SAMPLES, HOURS, LINES, folder))]
    done = subprocess.run(program, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    return folder / "out", json.loads(done.stdout)


@pytest.mark.slow
def test_memory_of_the_watcher_does_not_grow(long_run):
    folder, counted = long_run
    ended = record_in(folder)["peak"]["hwm_bytes"]["processes_seen"]
    taken, anon = np.array(counted["own_anon_bytes"]).T
    later = taken > taken[-1] / 4
    assert later.sum() > 100
    fit = stats.linregress(taken[later], anon[later])
    half = stats.t.ppf(0.975, later.sum() - 2) * np.nan_to_num(fit.stderr)  # nan if all readings are equal
    slope, off = 1e6 * fit.slope, 1e6 * half
    print(
        f"{counted['taken']:,} samples in {counted['real_s']:.0f} s; own anonymous memory {anon[-1] / 1e6:.2f} MB, "
        f"slope {slope / 1e6:.3f} MB ± {off / 1e6:.3f} a million samples, n = {later.sum()}",
        file=sys.stderr,
    )
    bound = A_LINE * LINES + OF_A_PROCESS * min(ended, KEPT_PROCESSES) + OF_ALLOCATOR
    assert anon[later].max() - anon[later].min() < bound


@pytest.mark.slow
def test_no_sample_is_lost_and_peaks_are_kept(long_run):
    folder, counted = long_run
    record = record_in(folder)
    lines = pd.read_csv(folder / "samples.csv")
    size = sum(path.stat().st_size for path in folder.iterdir())
    print(f"{record['duration_s'] / 3600:.2f} hours, {len(lines):,} lines, {size / 1e6:.2f} MB", file=sys.stderr)
    # On a busy machine the watcher itself may have had no processor for a moment, and says so.
    assert [note for note in record["missing"] if "had no processor" not in note["why"]] == []
    assert record["outcome"] == "completed"
    assert record["duration_s"] >= 3600 * HOURS
    assert record["sampler"]["samples"] == counted["taken"] >= SAMPLES
    assert record["sampler"]["lines"] == len(lines) <= LINES
    assert {kind: record["peak"][kind] for kind in KINDS} == counted["highest"]
    assert lines["rss_bytes"].max() == counted["highest"]["rss_bytes"] > SPIKE
    assert lines["t_s"].is_monotonic_increasing
    assert (lines["rss_bytes"] == lines["anon_bytes"] + lines["file_bytes"] + lines["shmem_bytes"]).all()
    assert size < 250 * LINES


@pytest.mark.slow
@pytest.mark.parametrize("program", [["/bin/true"], ["/bin/sleep", "0.05"]], ids=["of a millisecond", "of 50 ms"])
def test_thousands_of_short_children_are_counted(program, tmp_path):
    with (tmp_path / "said").open("w+b") as output:
        command = [sys.executable, "-I", "-S", "-c", CHILDREN, str(CHILDREN_S), str(A_MINUTE), *program]
        record = watch(command, tmp_path / "out", WatchOptions(stdout=output.fileno()))
        output.seek(0)
        children = json.loads(output.read())
    marks, count = record["peak"]["hwm_bytes"], children["started"] + 1
    seen = marks["processes_seen"] - marks["never_sampled"]
    print(
        f"{children['started']} children in {record['duration_s']:.0f} s: {seen / count:.1%} of all processes sampled, "
        f"{marks['processes_seen'] / count:.1%} accounted for, lost {marks['exits_lost']}; watcher "
        f"{record['sampler']['duty_cycle']:.2%} of a core, every {record['sampler']['interval_used_ms']} ms",
        file=sys.stderr,
    )
    assert record["outcome"] == "completed"
    assert record["missing"] == []
    assert record["sampler"]["duty_cycle"] > 0
    assert count > 0.25 * CHILDREN_S * A_MINUTE / 60, "the machine started too few children for this test"
    assert 0 < seen <= count
    if marks["exits_by_kernel"] and not marks["exits_lost"]:
        assert marks["processes_seen"] == count
    # The guard reaped all of them, so that their use is known even if no sample has them.
    assert record["cpu_s"] >= children["cpu_s"] - 2 / os.sysconf("SC_CLK_TCK")
    assert record["faults"]["minor"] >= children["faults"]
