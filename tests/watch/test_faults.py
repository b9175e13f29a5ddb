"""Each call of the watcher and the guard fails in turn: the command ends as if unwatched, and the record is complete or
names what is missing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FAULTS = Path(__file__).with_name("faults.py")
SCENARIOS = ("plain", "signal", "timed", "limited")
LANES = 3
# All kinds of error; running them all takes some ten minutes on two cores.
EVERY = ("EIO-once", "EIO-always", "EMFILE-always", "ENOSPC-always", "ValueError-once", "ValueError-always")


def runs(folder, kinds, first=0, **strides):
    """Run these scenarios, and return a line for each run. `first`: where the strides begin, in percent of one."""
    environment = os.environ | {"FAULT_KINDS": " ".join(kinds)}
    scenarios = [f"{scenario}:{stride}:{stride * first // 100}" for scenario, stride in strides.items()]
    command = [sys.executable, str(FAULTS), str(folder), str(LANES), *scenarios]
    done = subprocess.run(command, capture_output=True, env=environment, text=True)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def check(scenario, results):
    fired = [run for run in results if run["fired"]]
    otherwise = [run for run in fired if run["ended_otherwise"]]
    silent = [run for run in fired if run["silent"]]
    says = sum(run["says"] for run in fired)
    print(
        f"{scenario}: {len(results)} points, {len(fired)} reached; commands that ended otherwise: {len(otherwise)}; "
        f"records that say what is missing: {says}, whole all the same: {sum(run['whole'] for run in fired)}, "
        f"silent about it: {len(silent)}",
        file=sys.stderr,
    )
    assert fired
    assert not otherwise, json.dumps(otherwise[:3])[:4000]
    assert not silent, json.dumps(silent[:3])[:4000]


@pytest.fixture(
    scope="module", params=[(90, 0), pytest.param((90, 50), marks=pytest.mark.end_to_end)], ids=["some", "others"]
)
def sampled(request, tmp_path_factory):
    """Run a sample of all points, and one of others: one in 45 or 135 in all."""
    kinds, (stride, first) = ("EIO-once", "EIO-always", "ValueError-always"), request.param
    strides = {"plain": stride} | dict.fromkeys(("signal", "timed", "limited"), 3 * stride)
    return runs(tmp_path_factory.mktemp("faults"), kinds, first, **strides)


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_command_ends_as_if_unwatched(scenario, sampled):
    check(scenario, [run for run in sampled if run["scenario"] == scenario])


@pytest.mark.skipif("FAULTS" not in os.environ, reason="all points, ten minutes: set FAULTS=all")
@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_command_ends_as_if_unwatched_at_every_point(scenario, tmp_path):
    check(scenario, runs(tmp_path, (*EVERY, "MemoryError-once"), **{scenario: 1}))
