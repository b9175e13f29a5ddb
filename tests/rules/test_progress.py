"""Progress while runs are measured."""

import re
import shutil
from pathlib import Path

import pytest
import yaml

from .conftest import Snakemake

pytestmark = pytest.mark.slow
COLLECTED = "results-two/collected/scan.runs.parquet"
LINE = re.compile(r"^weighed \d+ of .*$", re.MULTILINE)


@pytest.fixture(scope="module")
def config(project: Path, current: None) -> Path:
    """Two cells of the cheapest workload."""
    scan = {"workload": "scan", "repeats": 1, "matrix": {"stack": ["current"], "size_mb": [1, 2]}}
    file = project / "two.yaml"
    file.write_text(yaml.safe_dump({"defaults": "none", "results": "results-two", "experiments": {"scan": scan}}))
    return file


@pytest.mark.end_to_end
def test_progress_gives_the_number_of_runs_left(project: Path, snakemake: Snakemake, config: Path) -> None:
    words = (
        COLLECTED,
        "--logger-beyond-ram-all-lines",
        "--cores",
        "2",
        "--configfile",
        str(config),
    )

    def lines() -> list[str]:
        done = snakemake(*words)
        assert done.returncode == 0, done.stderr[-3000:]
        outputs.append(done.stderr)
        return LINE.findall(done.stderr)

    outputs: list[str] = []
    timed = "1 left, less than a minute (estimated; timed so far: {})"
    assert lines() == [
        "weighed 0 of 2 runs; 2 left",
        f"weighed 1 of 2 runs; {timed.format(1)}",
        "weighed 2 of 2 runs",
    ]
    assert "rule weigh:" in outputs[0]
    assert re.search(r"(\d+) of \1 steps \(100%\) done", outputs[0])
    assert lines() == [], "progress changes nothing that Snakemake checks"
    for removed in ("runs/scan/stack~current/size_mb~2", "collected"):
        shutil.rmtree(project / "results-two" / removed)
    assert lines() == [f"weighed 1 of 2 runs; {timed.format(2)}", "weighed 2 of 2 runs"]


def test_record_of_a_run_is_removed_before_its_other_files(snakemake: Snakemake, config: Path) -> None:
    """Snakemake removes outputs in their order: a kill in between leaves no record of a run that lacks a file."""
    done = snakemake("-n", COLLECTED, "--forceall", "--configfile", str(config))
    assert "rule weigh:" in done.stdout
    assert "This was a dry-run" in done.stdout
    outputs = re.findall(r"output: (results-two/runs/.*)", done.stdout + done.stderr)
    assert len(outputs) == 2
    assert all(names.split(", ")[0].endswith("/run.json") for names in outputs)
