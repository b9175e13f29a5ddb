"""A real Snakemake looks for jobs only after one has ended."""

import os
import subprocess

import pytest

from ..conftest import ROOT

SNAKEFILE = """
from beyond_ram.workflow import scheduler

onstart:
    scheduler.stay_idle(workflow)

rule all:
    input: "a", "b"

rule make:
    output: "{name}"
    shell: "sleep 0.5; touch {output}"
"""


SIGNALLED = """
import os, signal
from beyond_ram.workflow import scheduler

original = []

def finish():
    os.kill(os.getpid(), signal.SIGTERM)
    original[0]()

onstart:
    scheduler.end_on_sigterm()
    original.append(workflow.scheduler._finish_jobs)
    workflow.scheduler._finish_jobs = finish

rule all:
    output: "a"
    shell: "touch {output}"
"""


def run_snakemake(folder, path, *options):
    """Run a call that makes both files, and return its log."""
    (folder / "Snakefile").write_text(SNAKEFILE)
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)}
    command = ["snakemake", "--verbose", *options]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True).stderr


@pytest.mark.slow
def test_scheduler_looks_for_jobs_at_the_start_and_after_each_job(tmp_path, path):
    assert 2 <= run_snakemake(tmp_path, path, "--cores", "1").count("Ready jobs: ") <= 4


@pytest.mark.slow
def test_snakemake_ends_on_sigterm_while_it_holds_its_lock(tmp_path, path):
    (tmp_path / "Snakefile").write_text(SIGNALLED)
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)}
    subprocess.run(["snakemake", "--cores", "1"], cwd=tmp_path, env=environment, capture_output=True, timeout=60)
