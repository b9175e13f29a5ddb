"""The locks of a killed Snakemake are taken away, and those of one that may live are not."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HOLD = "import pathlib, time; from beyond_ram import stale; stale.clear(pathlib.Path()); print('held', flush=True); "


def workflow(folder: Path, then: str = "time.sleep(100)") -> "subprocess.Popen[str]":
    """A process that runs a workflow in a folder."""
    command = [sys.executable, "-c", HOLD + then]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
    assert started.stdout
    assert started.stdout.readline() == "held\n"
    return started


def ended(process: "subprocess.Popen[str]", how: signal.Signals = signal.SIGKILL) -> None:
    process.send_signal(how)
    process.communicate()


def locked(folder: Path) -> Path:
    lock = folder / ".snakemake" / "locks" / "0.output.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.write_text("results/report.html\n")
    return lock


def test_those_of_a_killed_one_are_taken_away(tmp_path: Path) -> None:
    killed = workflow(tmp_path)
    lock = locked(tmp_path)
    ended(killed)
    ended(workflow(tmp_path))
    assert not lock.exists()


def test_those_of_one_that_runs_stay_whoever_comes_and_goes(tmp_path: Path) -> None:
    running = workflow(tmp_path)
    lock = locked(tmp_path)
    try:
        for _ in range(2):
            ended(workflow(tmp_path))
            assert lock.exists()
    finally:
        ended(running)
    ended(workflow(tmp_path))
    assert not lock.exists()


@pytest.mark.parametrize("hosts", ["elsewhere\n", ""])
def test_those_of_another_machine_or_of_before_stay(tmp_path: Path, hosts: str) -> None:
    lock = locked(tmp_path)
    (tmp_path / ".snakemake" / "beyond-ram.running").write_text(hosts)
    for _ in range(2):
        ended(workflow(tmp_path))
        assert lock.exists()


def test_where_nothing_may_be_written_all_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / ".snakemake").write_text("a file")
    ended(workflow(tmp_path))
    assert (tmp_path / ".snakemake").read_text() == "a file"


HOLD_RESULTS = (
    "import pathlib, sys, time; from beyond_ram import stale; from beyond_ram.experiment import places; "
    "places.open_results(sys.argv[1]); stale.hold(pathlib.Path(sys.argv[1]), places.RESULTS_MARK); "
    "print('held', flush=True); time.sleep(100)"
)


def test_results_are_made_by_one_workflow_at_a_time(tmp_path: Path) -> None:
    def holder() -> "subprocess.Popen[str]":
        command = [sys.executable, "-c", HOLD_RESULTS, str(tmp_path / "results")]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    first = holder()
    assert first.stdout and first.stdout.readline() == "held\n"
    second = holder()
    assert "HeldError" in second.communicate()[1]
    assert second.returncode == 1
    ended(first)
    third = holder()
    assert third.stdout and third.stdout.readline() == "held\n", "a killed one holds nothing"
    ended(third)
