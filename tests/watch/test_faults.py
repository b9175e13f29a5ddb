"""Every call of the watcher and of the guard made to fail in turn: the command ends as it does unwatched, and the
record has everything or says what it lacks."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FAULTS = Path(__file__).with_name("faults.py")
# How many runs share a scenario's places and kinds of error; all of them are slow (some ten minutes on two cores).
EVERY = ("EIO-once", "EIO-always", "EMFILE-always", "ENOSPC-always", "ValueError-once", "ValueError-always")


def runs(scenario: str, kinds: tuple[str, ...], stride: int, folder: Path) -> list[dict[str, Any]]:
    """One line for each run, from two processes."""
    environment = os.environ | {"FAULT_KINDS": " ".join(kinds)}
    command = [sys.executable, str(FAULTS), scenario, str(folder), str(2 * stride)]
    workers = [
        subprocess.Popen([*command, str(half * stride)], stdout=subprocess.PIPE, env=environment) for half in (0, 1)
    ]
    outputs = [worker.communicate()[0] for worker in workers]
    assert [worker.returncode for worker in workers] == [0, 0]
    return [json.loads(line) for text in outputs for line in text.splitlines()]


def check(scenario: str, results: list[dict[str, Any]]) -> None:
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


@pytest.mark.slow
@pytest.mark.parametrize(("scenario", "stride"), [("plain", 20), ("signal", 60), ("timed", 60), ("limited", 60)])
def test_the_command_ends_as_it_does_unwatched(scenario: str, stride: int, tmp_path: Path) -> None:
    """A sample of all points."""
    check(scenario, runs(scenario, ("EIO-once", "EIO-always", "ValueError-always"), stride, tmp_path))


@pytest.mark.skipif("FAULTS" not in os.environ, reason="all points, ten minutes: set FAULTS=all")
@pytest.mark.slow
@pytest.mark.parametrize("scenario", ["plain", "signal", "timed", "limited"])
def test_at_every_point(scenario: str, tmp_path: Path) -> None:
    check(scenario, runs(scenario, (*EVERY, "MemoryError-once"), 1, tmp_path))
