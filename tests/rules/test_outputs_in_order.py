"""Order of outputs."""

import re

import pytest

from .tiny import write_config


@pytest.mark.slow
def test_record_of_a_run_is_removed_before_its_other_files(project, snakemake, current):
    """Snakemake removes outputs in their order: a kill in between leaves no record of a run that lacks a file."""
    config = write_config(project / "two.yaml", "results-two", tiny=[1, 2])
    done = snakemake("-n", "results-two/collected/tiny.runs.parquet", "--forceall", "--configfile", str(config))
    assert "rule measure:" in done.stdout
    assert "This was a dry-run" in done.stdout
    outputs = re.findall(r"output: (results-two/runs/.*)", done.stdout + done.stderr)
    assert len(outputs) == 2
    assert all(names.split(", ")[0].endswith("/run.json") for names in outputs)
