"""A program that fails is an outcome of its run: tables and report have it, and the call goes on."""

import re
import shutil

import pandas as pd
import pytest

from .test_terminal import logs, on_terminal, screen_lines
from .tiny import besides, run_of, write_config

# test_terminal.py has a quicker test of a run that is killed.
pytestmark = [pytest.mark.slow, pytest.mark.end_to_end]
BAD = run_of(2)
RESULTS = "results-going"


@pytest.fixture(scope="module")
def config(project, current):
    """Four cells in two experiments. Tests reuse the runs of earlier ones."""
    return write_config(project / "going.yaml", RESULTS, tiny=[1, 2, 3], other=[4])


def lines(project, table="runs"):
    return pd.read_csv(project / RESULTS / "tables" / f"{table}.csv")


def failing(project, *sizes):
    """Let the script fail with some sizes while the block runs."""
    return besides(project, f"assert size not in {sizes}, 'no such size'")


def test_failed_run_is_in_tables_and_report_and_is_made_again_once_its_folder_is_gone(project, snakemake, config, path):
    results = project / RESULTS
    with failing(project, 2):
        done = snakemake("--configfile", str(config))
        assert done.returncode == 0, done.stderr[-3000:]
        assert "Nothing to be done" in snakemake("--configfile", str(config)).stderr
    runs = lines(project).set_index("arguments")
    assert runs["outcome"].to_dict() == {
        **dict.fromkeys(("size-1", "size-3", "size-4"), "completed"),
        "size-2": "failed",
    }
    assert runs.loc["size-2", "reason"] == "AssertionError: no such size"
    assert runs.loc["size-2", "peak_kept_bytes"] > 0, "it has its readings"
    brief, page = (results / "summary.txt").read_text(), (results / "report.html").read_text()
    assert "1 run failed, the first in experiment tiny: AssertionError: no such size" in brief
    assert "AssertionError: no such size" in page
    shutil.rmtree(results / "runs" / BAD)
    status, output = on_terminal(project, "all", "--configfile", str(config), snakemake=["snakemake"], path=path)
    assert status == 0, output[-4000:]
    assert "measured 0 of 1 runs: tiny" in output
    brief = (results / "summary.txt").read_text().splitlines()
    assert [line for line in screen_lines(output) if line][1:-1] == brief, "the line of progress disappears"
    log = logs(project)[-1].read_text()
    assert re.findall(r"^ +output: \S+/runs/(\S+)/run.json", log, re.MULTILINE) == [BAD]
    assert {*lines(project)["outcome"]} == {"completed"}


def test_experiment_without_finished_runs(project, snakemake, config):
    results = project / RESULTS
    shutil.rmtree(results, ignore_errors=True)
    with failing(project, 1, 2, 3):
        done = snakemake("--configfile", str(config))
    assert done.returncode == 0, done.stderr[-3000:]
    assert lines(project)["outcome"].value_counts().to_dict() == {"failed": 3, "completed": 1}
    assert "3 runs failed" in (results / "summary.txt").read_text()
