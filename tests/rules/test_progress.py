"""What a user reads while runs are weighed."""

import re
import shutil
from pathlib import Path

import pytest
import yaml

from .conftest import Snakemake

pytestmark = pytest.mark.slow
LINE = re.compile(r"^weighed \d+ of .*$", re.MULTILINE)


@pytest.fixture(scope="module")
def config(project: Path, current: None) -> Path:
    """Two cells of the cheapest workload."""
    scan = {"workload": "scan", "repeats": 1, "matrix": {"stack": ["current"], "size_mb": [1, 2]}}
    file = project / "two.yaml"
    file.write_text(yaml.safe_dump({"defaults": "none", "results": "results-two", "experiments": {"scan": scan}}))
    return file


def test_every_weighed_run_says_how_many_are_left(project: Path, snakemake: Snakemake, config: Path) -> None:
    words = (
        "results-two/tables/runs.csv",
        "--logger-beyond-ram-all-lines",
        "--cores",
        "2",
        "--configfile",
        str(config),
    )

    def lines() -> list[str]:
        done = snakemake(*words)
        assert done.returncode == 0, done.stderr[-3000:]
        return LINE.findall(done.stderr)

    timed = "1 left, less than a minute (estimated; timed so far: {})"
    assert lines() == [
        "weighed 0 of 2 runs; 2 left",
        f"weighed 1 of 2 runs; {timed.format(1)}",
        "weighed 2 of 2 runs",
    ]
    assert lines() == [], "saying it has changed what Snakemake looks at"
    for gone in ("runs/scan/stack~current/size_mb~2", "collected", "tables"):
        shutil.rmtree(project / "results-two" / gone)
    assert lines() == [f"weighed 1 of 2 runs; {timed.format(2)}", "weighed 2 of 2 runs"]


def test_a_run_that_has_failed_is_not_left(project: Path, snakemake: Snakemake, config: Path) -> None:
    program = project / "scripts/workloads/scan.py"
    sound = program.read_text()
    program.write_text(sound.replace("args = arguments()\n", "args = arguments()\n    assert args.size_mb != 2\n"))
    fails = "results-two/runs/scan/stack~current/size_mb~2/rep~1/run.json"
    words = ("--logger-beyond-ram-all-lines", "--keep-going", "--prioritize", fails, "--configfile", str(config))
    try:
        done = snakemake("results-two/tables/runs.csv", *words)
    finally:
        program.write_text(sound)
    assert "AssertionError" in done.stderr
    # What follows it is said by the call that makes what can be made of the rest.
    assert LINE.findall(done.stderr)[1] == "weighed 1 of 2 runs; 1 cannot be weighed, since a job failed"


def test_of_the_files_of_a_run_its_record_is_removed_first(snakemake: Snakemake, config: Path) -> None:
    """Snakemake removes outputs in their order: a kill in between leaves no record of a run that lacks a file."""
    done = snakemake("-n", "results-two/tables/runs.csv", "--forceall", "--configfile", str(config))
    outputs = re.findall(r"output: (results-two/runs/.*)", done.stdout + done.stderr)
    assert len(outputs) == 2
    assert all(names.split(", ")[0].endswith("/run.json") for names in outputs)
