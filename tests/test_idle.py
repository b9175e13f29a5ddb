"""A real Snakemake looks for jobs to start when one has ended, and not in between."""

import subprocess
import sys
from pathlib import Path

import pytest

SNAKEFILE = """
from beyond_ram import idle

onstart:
    idle.stay_idle(workflow)

rule all:
    input: "a", "b"

rule make:
    output: "{name}"
    shell: "sleep 2; touch {output}"
"""


def ended(folder: Path, *options: str) -> str:
    """What a call said that has made both files."""
    (folder / "Snakefile").write_text(SNAKEFILE)
    command = [sys.executable, "-m", "snakemake", "--verbose", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stderr


@pytest.mark.slow
def test_a_look_for_jobs_is_one_at_the_start_and_one_after_each(tmp_path: Path) -> None:
    assert 2 <= ended(tmp_path, "--cores", "1").count("Ready jobs: ") <= 4


@pytest.mark.slow
def test_a_bound_that_the_user_gives_is_kept(tmp_path: Path) -> None:
    ended(tmp_path, "--cores", "2", "--max-jobs-per-timespan", "1/3s")
    made = sorted((tmp_path / name).stat().st_mtime for name in "ab")
    assert made[1] - made[0] > 2
