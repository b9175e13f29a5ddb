"""`beyond-ram bump`: upgrade, run both locks, compare; continuing after a failure.

A stand-in for the workflow writes runs of the stacks, as Snakemake would.
"""

from pathlib import Path

import pytest

from beyond_ram.cli import bump, main, stack

from .test_compare import write_run

RESULTS = Path("results")


@pytest.fixture
def lock(tmp_path, monkeypatch):
    """Create a project with a stack `mine` for which there is a newer release."""
    project = tmp_path / "project"
    (project / "envs").mkdir(parents=True)
    monkeypatch.setattr(stack, "project", lambda: project)
    monkeypatch.setattr(bump, "project", lambda: project)
    monkeypatch.chdir(tmp_path)
    assert main(["stack", "add", "mine", "click==8.1.0"]) == 0
    (project / "envs/mine.in").write_text("click<8.1.8\n")
    return project / "envs/mine.txt"


def test_mistyped_config_leaves_the_lock(lock):
    old = lock.read_bytes()
    assert main(["bump", "mine", "--configfile", "none.yaml"]) == 2
    assert lock.read_bytes() == old
    assert not lock.with_name("mine-before.txt").exists()


@pytest.mark.slow
def test_bump_upgrades_runs_both_locks_compares_and_continues(lock, monkeypatch):
    locks = []
    old = lock.read_bytes()

    def run_workflow(arguments, *options):
        if "--dry-run" in options:
            return
        locks.append((lock.with_name("mine-before.txt").read_bytes(), lock.read_bytes()))
        if len(locks) == 1:
            raise RuntimeError("the workflow failed")
        for name in ("mine-before", "mine"):
            write_run(RESULTS, name, 1)

    monkeypatch.setattr(bump, "_run_workflow", run_workflow)
    assert main(["bump", "mine"]) == 2
    assert main(["bump", "mine"]) == 2, "the same command goes on; one run of each side decides nothing"
    assert locks[0] == locks[1]
    assert locks[0][0] == old and b"click==8.1.7" in locks[0][1]
    assert "mine-before" in (RESULTS / "changes" / "changes.csv").read_text()
