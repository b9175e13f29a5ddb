"""A read-only results folder: every command that would write gets one line, and nothing is lost."""

import subprocess

import pytest

from beyond_ram import cli

from ..records.test_cell_runs import run_once
from .test_options import listing


@pytest.fixture
def sealed(small_disk):
    """Results with a run, on a read-only file system."""
    folder = small_disk / "results"
    (folder / "runs").mkdir(parents=True)
    (folder / ".beyond-ram-results").touch()
    run_once(folder / "runs", seconds=0)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["compare", "current", "current", "--results", "{results}"],
        ["make", "--out", "{results}/corpora/mine", "--", "true"],
        ["gate", "--baseline", "datasets==5.0.0", "--candidate", "datasets==5.2.0", "--out", "{results}/gate"],
    ],
    ids=lambda words: words[0],
)
def test_command_gets_one_line_and_changes_nothing(sealed, words, capfd):
    before = listing(sealed)
    assert cli.main([word.format(results=sealed) for word in words]) == 2
    lines = capfd.readouterr().err.strip().splitlines()
    assert lines[-1].startswith("beyond-ram: ")
    assert "read-only file system" in lines[-1]
    assert str(sealed) in lines[-1]
    assert listing(sealed) == before
