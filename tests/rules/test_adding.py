"""Runs stay valid when a loader, or a table with a figure is added: none is measured again."""

import re

import pytest
import yaml

from ..conftest import link_stack
from .tiny import run_of, write_config

RUN = f"runs/{run_of(2)}"


TABLE = """
import pandas as pd


def highest(records):
    return pd.DataFrame([{**record["cell"], "peak_bytes": record["peak"]["anon_bytes"]} for record, _ in records])
"""
FIGURE = """
from beyond_ram import figures


def plot(highest):
    figure, grid = figures.rows(1, 3)
    grid[0][0].plot(highest["rep"], highest["peak_bytes"] / figures.MB, "o")
    return figure, "The highest anonymous memory of each run."
"""
CHAPTER = """
OUTPUTS.add(
    "limit",
    "Explanation",
    covers=lambda one: one.workload == "script",
    tables=["highest"],
    figures={"highest": Figure("The highest memory")},
)
"""


@pytest.mark.slow
@pytest.mark.end_to_end
@pytest.mark.usefixtures("current")
def test_table_and_its_figure_are_made_of_existing_runs(project, snakemake):
    config = write_config(project / "later.yaml", "results-highest", tiny=[2])
    words = ("--configfile", str(config))
    assert snakemake(f"results-highest/{RUN}/run.json", *words).returncode == 0
    chapters = project / "rules/limit.smk"
    before = chapters.read_text()
    (project / "beyond_ram/analysis/highest.py").write_text(TABLE)
    (project / "scripts/figures/highest.py").write_text(FIGURE)
    chapters.write_text(before + CHAPTER)
    try:
        done = snakemake("results-highest/figures/highest.svg", "-p", *words)
        assert done.returncode == 0, done.stderr[-3000:]
        assert "rule table_highest:" in done.stderr
        assert "rule measure:" not in done.stderr
        assert (project / "results-highest/figures/highest.png").stat().st_size > 1000
    finally:
        chapters.write_text(before)
        (project / "beyond_ram/analysis/highest.py").unlink()
        (project / "scripts/figures/highest.py").unlink()


@pytest.mark.slow
@pytest.mark.end_to_end
def test_loader_keeps_the_runs_of_others(project, snakemake, tmp_path):
    link_stack("loaders", project)
    config = tmp_path / "loaders.yaml"
    target = "results-loaders/collected/reading.runs.parquet"

    def call(loaders, *options):
        matrix = {"stack": ["loaders"], "tokens": ["few"], "loader": loaders, "workers": [0]}
        content = {"defaults": "none", "results": "results-loaders", "tokens": {"few": {"rows": 2003}}}
        content["experiments"] = {"reading": {"workload": "load", "repeats": 1, "matrix": matrix}}
        config.write_text(yaml.safe_dump(content))
        done = snakemake(target, "--configfile", str(config), *options)
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        return done.stdout + done.stderr

    call(["memmap_batched"])
    added = project / "scripts/workloads/loaders/added.py"
    added.write_text((added.parent / "memmap_batched.py").read_text())
    try:
        planned = call(["memmap_batched", "added"], "--dry-run")
        jobs = re.findall(r"^rule measure:\n +input: .*\n +output: (\S+),?", planned, re.MULTILINE)
        assert len(jobs) == 1, planned[-3000:]
        assert "loader~added" in jobs[0]
    finally:
        added.unlink()
