"""A results folder that cannot be written to: every command that would says so in a line, and nothing is lost."""

import subprocess
from pathlib import Path

import pytest

from beyond_ram import cli
from beyond_ram.experiment import kept

from ..experiment.test_kept import results, rounds
from ..experiment.test_records import LOCK, weighed
from .test_options import listing


@pytest.fixture
def sealed(small_disk: Path) -> Path:
    """Results with runs and kept runs, on a file system that is mounted for reading."""
    folder = results(small_disk / "results")
    rounds(folder)
    weighed(folder / "runs", seconds=0)
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["stack", "prune", "--keep", "0", "--results", "{results}"],
        ["compare", "{stack}", "{stack}", "--results", "{results}"],
        ["make", "--out", "{results}/corpora/mine", "--", "true"],
        ["gate", "--baseline", "datasets==5.0.0", "--candidate", "datasets==5.2.0", "--out", "{results}/gate"],
    ],
    ids=lambda words: words[0],
)
def test_it_is_told_in_a_line_and_all_is_there(
    sealed: Path, words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    before = listing(sealed)
    stack = next(iter(kept.locks(sealed)))
    assert cli.main([word.format(results=sealed, stack=stack) for word in words]) == 2
    lines = capfd.readouterr().err.strip().splitlines()
    assert lines[-1].startswith("beyond-ram: ")
    assert "Read-only file system" in lines[-1]
    assert str(sealed) in lines[-1]
    assert listing(sealed) == before


@pytest.mark.slow
def test_an_upgrade_moves_nothing(sealed: Path) -> None:
    before = listing(sealed)
    assert [record for _, record in kept.runs_of(sealed, "current", LOCK)], "there is a run to keep"
    with pytest.raises(OSError, match="Read-only file system"):
        kept.keep(sealed, "current", LOCK)
    assert listing(sealed) == before
