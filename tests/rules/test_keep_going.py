"""One bad run never costs the others: with --keep-going, tables and report are made and name what is missing."""

import re
import shutil

import pandas as pd
import pytest

from .changes import replaced
from .test_terminal import logs, on_terminal, screen_lines
from .tiny import besides, run_of, write_config

# test_terminal.py has a quicker test of a failing run.
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
    return besides(project, f"assert size not in {sizes}")


def test_failed_run_requested_by_name_is_not_tried_again(project, snakemake, config):
    bad, table = f"{RESULTS}/runs/{BAD}/run.json", f"{RESULTS}/tables/runs.csv"
    words = ("--keep-going", "--configfile", str(config))
    with failing(project, 2):
        first = snakemake(table, "--prioritize", f"./{bad}", *words)
        assert first.stderr.count("AssertionError") == 1
        assert len(lines(project)) == 3
        alone = snakemake(bad, *words)
    assert alone.returncode != 0
    assert alone.stderr.count("AssertionError") == 1
    assert not list((project / RESULTS / "figures").glob("*")), "only requested outputs are made"


def test_failed_run_and_the_same_call_again_in_a_terminal(project, snakemake, config, path):
    results = project / RESULTS
    with failing(project, 2):
        done = snakemake("--keep-going", "--configfile", str(config))
    assert done.returncode != 0, "the exit status shows that something is missing"
    assert f"1 could not be made: {RESULTS}/runs/{BAD}; the same call again makes only these" in done.stderr
    runs = lines(project)
    assert sorted(zip(runs["experiment"], runs["arguments"], strict=True)) == [
        ("other", "size-4"), ("tiny", "size-1"), ("tiny", "size-3")
    ]  # fmt: skip
    page, brief = (results / "report.html").read_text(), (results / "summary.txt").read_text()
    assert f"<li>{BAD}</li>" in page
    assert f"Without 1 that could not be made: {BAD}." in brief
    assert list((results / "figures").glob("*.svg"))
    assert not (results / "specs/lost.json").exists()
    status, output = on_terminal(project, "all", "--configfile", str(config), snakemake=["snakemake"], path=path)
    assert status == 0, output[-4000:]
    assert "measured 0 of 1 runs: tiny" in output
    brief = (results / "summary.txt").read_text().splitlines()
    assert [line for line in screen_lines(output) if line][1:-1] == brief, "the line of progress disappears"
    log = logs(project)[-1].read_text()
    assert "rule measure:" in log, "the log has what the terminal omits"
    assert re.findall(r"^ +output: \S+/runs/(\S+)/run.json", log, re.MULTILINE) == [BAD]
    assert len(lines(project)) == 4
    assert BAD not in (results / "summary.txt").read_text()
    assert f"<li>{BAD}</li>" not in (results / "report.html").read_text()
    assert "Nothing to be done" in snakemake("--configfile", str(config)).stderr


def test_experiment_without_finished_runs_and_a_failing_figure(project, snakemake, config):
    results = project / RESULTS
    shutil.rmtree(results, ignore_errors=True)
    figure = project / "scripts/figures/reported.py"
    with failing(project, 1, 2, 3), replaced(figure, "def plot(", "1 / 0\n\n\ndef plot("):
        done = snakemake("--keep-going", "--configfile", str(config))
    assert done.returncode != 0
    assert lines(project)["experiment"].tolist() == ["other"]
    page = (results / "report.html").read_text()
    missing = [run_of(size) for size in (1, 2, 3)]
    missing.append(f"{RESULTS}/figures/reported")
    assert all(f"<li>{name}</li>" in page for name in missing), re.findall("<li>.*~.*</li>", page)
