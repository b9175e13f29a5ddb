"""Threads of a run below Snakemake. measuring/test_ends_with_parent.py tests that it ends with Snakemake."""

import json
import os
import subprocess
import sys

import pytest

from .conftest import ROOT

NAMES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
RUN = f"""
import json, os
from beyond_ram.parent_process import restore_threads
restore_threads()
print(json.dumps({{name: os.environ.get(name) for name in {NAMES!r}}}))
"""
# Snakemake starts a command with these variables set to the threads of its rule.
SNAKEMAKE = f"""
import os, subprocess, sys
subprocess.run([sys.executable, "-c", {RUN!r}], env=os.environ | dict.fromkeys({NAMES!r}, "1"), check=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("user_threads", [{}, {"OMP_NUM_THREADS": "3"}])
def test_run_has_the_threads_that_its_user_set(user_threads, tmp_path):
    (tmp_path / "snakemake").write_text(SNAKEMAKE)
    environment = {name: value for name, value in os.environ.items() if name not in NAMES} | user_threads
    done = subprocess.run(
        [sys.executable, tmp_path / "snakemake"], env=environment | {"PYTHONPATH": str(ROOT)},
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert json.loads(done.stdout) == dict.fromkeys(NAMES) | user_threads


def test_threads_stay_unchanged_without_snakemake(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    done = subprocess.run([sys.executable, "-c", RUN], check=True, capture_output=True, text=True, cwd=ROOT)
    assert json.loads(done.stdout)["OMP_NUM_THREADS"] == "3"
