"""`beyond-ram bump`: upgrade, run, compare; continuing after a failure; refusals.

A stand-in for the workflow writes runs of the current lock, as Snakemake would.
"""

import argparse
from pathlib import Path

import pytest

from beyond_ram.cli import bump, main, stack
from beyond_ram.experiment import kept

from .test_stack import write_run_of_lock

RESULTS = Path("results")


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a project with a stack `mine` for which there is a newer release."""
    project = tmp_path / "project"
    (project / "envs").mkdir(parents=True)
    monkeypatch.setattr(stack, "project", lambda: project)
    monkeypatch.setattr(bump, "project", lambda: project)
    monkeypatch.chdir(tmp_path)
    assert main(["stack", "add", "mine", "click==8.1.0"]) == 0
    (project / "envs/mine.in").write_text("click<8.1.8\n")
    return project / "envs/mine.txt"


@pytest.fixture
def runs(lock: Path, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Collect the locks that the workflow runs with."""
    locks: list[bytes] = []

    def run_workflow(arguments: argparse.Namespace, *options: str) -> None:
        if "--dry-run" in options:
            return
        locks.append(lock.read_bytes())
        if next(kept.runs_of(RESULTS, "mine", locks[-1]), None) is None:
            write_run_of_lock(RESULTS, "mine", locks[-1])

    monkeypatch.setattr(bump, "_run_workflow", run_workflow)
    return locks


def test_mistyped_config_leaves_the_lock_and_its_runs(lock: Path) -> None:
    old = lock.read_bytes()
    write_run_of_lock(RESULTS, "mine", old)
    assert main(["bump", "mine", "--configfile", "none.yaml"]) == 2
    assert lock.read_bytes() == old and not kept.read(RESULTS)


@pytest.mark.slow
def test_bump_upgrades_runs_and_compares(lock: Path, runs: list[bytes], capsys: pytest.CaptureFixture[str]) -> None:
    old = lock.read_bytes()
    assert main(["bump", "mine"]) == 0
    assert runs[0] == old, "the old lock was not run first"
    assert b"click==8.1.7" in runs[-1]
    out = capsys.readouterr().out
    assert "click" in out
    assert (RESULTS / "changes" / "changes.csv").is_file()
    assert "mine@click-" in (RESULTS / "changes" / "changes.csv").read_text()
    before = len(runs)
    assert main(["bump"]) == 0, "the results have one stack, which needs no name"
    assert len(runs) == before + 1, "without a newer release it compares with the previous lock"


@pytest.mark.slow
def test_bump_continues_after_a_failed_run(
    lock: Path, runs: list[bytes], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run_of_lock(RESULTS, "mine", lock.read_bytes())
    with monkeypatch.context() as patch:

        def fails(arguments: argparse.Namespace, *options: str) -> None:
            if "--dry-run" not in options:
                raise RuntimeError("the workflow failed")

        patch.setattr(bump, "_run_workflow", fails)
        assert main(["bump", "mine"]) == 2
    assert b"click==8.1.7" in lock.read_bytes()
    assert main(["bump", "mine"]) == 0
    assert (RESULTS / "changes" / "changes.csv").is_file()


def test_bump_without_a_stack_name_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["bump"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "which stack" in line
