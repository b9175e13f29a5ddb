"""`beyond-ram bump`: upgrade, run, compare; what goes on after a failure, and what is refused.

The workflow is a stand-in that leaves runs of the lock there is, as Snakemake would.
"""

import argparse
from pathlib import Path

import pytest

from beyond_ram.cli import bump, main, stack
from beyond_ram.experiment import kept

from .test_stack import run_of

RESULTS = Path("results")


@pytest.fixture
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stack `mine` that has a newer release, in a project of its own."""
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
    """The locks that the workflow was run with."""
    locks: list[bytes] = []

    def run_workflow(arguments: argparse.Namespace) -> None:
        locks.append(lock.read_bytes())
        if next(kept.runs_of(RESULTS, "mine", locks[-1]), None) is None:
            run_of(RESULTS, "mine", locks[-1])

    monkeypatch.setattr(bump, "_run_workflow", run_workflow)
    return locks


@pytest.mark.slow
def test_upgrade_run_and_compare_are_one_command(
    lock: Path, runs: list[bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    old = lock.read_bytes()
    assert main(["bump", "mine"]) == 0
    assert runs[0] == old, "what was never run is run first"
    assert b"click==8.1.7" in runs[-1]
    out = capsys.readouterr().out
    assert "click" in out
    assert (RESULTS / "changes" / "changes.csv").is_file()
    assert kept.name_of("mine", old) in (RESULTS / "changes" / "changes.csv").read_text()
    before = len(runs)
    assert main(["bump"]) == 0, "the only stack of the results"
    assert len(runs) == before + 1, "nothing is newer: compared with the lock before"


@pytest.mark.slow
def test_a_failed_run_is_gone_on_with(
    lock: Path, runs: list[bytes], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_of(RESULTS, "mine", lock.read_bytes())
    with monkeypatch.context() as broken:

        def fails(arguments: argparse.Namespace) -> None:
            raise RuntimeError("the workflow failed")

        broken.setattr(bump, "_run_workflow", fails)
        assert main(["bump", "mine"]) == 2
    assert b"click==8.1.7" in lock.read_bytes()
    assert main(["bump", "mine"]) == 0
    assert (RESULTS / "changes" / "changes.csv").is_file()


def test_which_stack_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["bump"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "which stack" in line
