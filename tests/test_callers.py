"""What a run has of the Snakemake above it. That it ends with it is in weighing/test_ends_with_parent.py."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import ROOT

NAMES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
RUN = f"""
import json, os
from beyond_ram.callers import restore_threads
restore_threads()
print(json.dumps({{name: os.environ.get(name) for name in {NAMES!r}}}))
"""
# As Snakemake starts a command: with these variables set to the threads of its rule.
SNAKEMAKE = f"""
import os, subprocess, sys
subprocess.run([sys.executable, "-c", {RUN!r}], env=os.environ | dict.fromkeys({NAMES!r}, "1"), check=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("given", [{}, {"OMP_NUM_THREADS": "3"}])
def test_a_run_has_the_threads_that_its_user_has_set(given: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "snakemake").write_text(SNAKEMAKE)
    environment = {name: value for name, value in os.environ.items() if name not in NAMES} | given
    done = subprocess.run(
        [sys.executable, tmp_path / "snakemake"], env=environment | {"PYTHONPATH": str(ROOT)},
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert json.loads(done.stdout) == dict.fromkeys(NAMES) | given


def test_without_a_snakemake_all_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    done = subprocess.run([sys.executable, "-c", RUN], check=True, capture_output=True, text=True, cwd=ROOT)
    assert json.loads(done.stdout)["OMP_NUM_THREADS"] == "3"
