"""A real Snakemake looks for jobs to start when one has ended, and not in between."""

import os
import subprocess
from pathlib import Path

import pytest

from .conftest import ROOT

SNAKEFILE = """
from beyond_ram import idle

onstart:
    idle.stay_idle(workflow)

rule all:
    input: "a", "b"

rule make:
    output: "{name}"
    shell: "sleep 0.5; touch {output}"
"""


def ended(folder: Path, path: str, *options: str) -> str:
    """What a call said that has made both files."""
    (folder / "Snakefile").write_text(SNAKEFILE)
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)}
    command = ["snakemake", "--verbose", *options]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True).stderr


@pytest.mark.slow
def test_a_look_for_jobs_is_one_at_the_start_and_one_after_each(tmp_path: Path, path: str) -> None:
    assert 2 <= ended(tmp_path, path, "--cores", "1").count("Ready jobs: ") <= 4


@pytest.mark.slow
def test_a_bound_that_the_user_gives_is_kept(tmp_path: Path, path: str) -> None:
    ended(tmp_path, path, "--cores", "2", "--max-jobs-per-timespan", "1/2s")
    made = sorted((tmp_path / name).stat().st_mtime for name in "ab")
    assert made[1] - made[0] > 1.5
