"""Rounds of a budget on a real Slurm: the runs of a round are submitted together, each with a memory request."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from beyond_ram.outputs import SHIPPED_SPREAD

from ..conftest import link_stack

if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import CompletedProcess

    from tests.slurm.conftest import Run, Slurm

pytestmark = [pytest.mark.slurm, pytest.mark.slow, pytest.mark.end_to_end, pytest.mark.release]

RESULTS = "results-rounds"
ESTIMATE_MB = 900
BUDGET_S = 1200  # enough for three repeats on a busy machine; the call ends with the first round
STACKS = ["tokenizers-alone", "current"]
METRIC = "tokens_per_cpu_s"


@pytest.fixture(scope="module")
def run(slurm: Slurm, clone: Path, run_in: Callable[..., CompletedProcess[str]]) -> Run:
    """Run the first round of two cells with the same tokenizers.

    Two repeats never decide their question, because the spread of sessions is set to a half.
    """
    words = {"source": "synthetic", "documents": 2, "document_characters": [2000, 6000], "vocabulary": 50}
    noisy = {
        "workload": "soak",
        "memory_mb": ESTIMATE_MB,
        "questions": [{"metric": METRIC}],
        "matrix": {
            "stack": STACKS, "corpus": ["words"], "num_files": [1], "subject": ["tokenizers"], "epochs": [1]
        },
    }  # fmt: skip
    config = {
        "defaults": "none",
        "results": RESULTS,
        "budget_min": BUDGET_S / 60,
        "corpora": {"words": words | {"tokenizer": {"train": "byte-level", "entries": 300}}},
        "experiments": {"noisy": noisy},
    }
    spread = clone / SHIPPED_SPREAD
    text = spread.read_text()
    spread.write_text(re.sub(rf"^{METRIC},[^,]*,", f"{METRIC},0.5,", text, flags=re.MULTILINE))
    assert spread.read_text() != text
    for stack in ("corpora", *STACKS):
        link_stack(stack, clone)
    (clone / "rounds.yaml").write_text(yaml.safe_dump(config))
    of_config = ("--configfile", "rounds.yaml")
    plan = run_in("snakemake", "-n", "--cores", "1", f"{RESULTS}/tables/runs.csv", *of_config)
    (first,) = re.findall(rf"output: ({RESULTS}/rounds/\S+)/round~0\.json", plan.stdout + plan.stderr)
    try:
        return slurm.snakemake(f"{first}/round~1.json", *of_config, cwd=clone, timeout=400)
    finally:
        spread.write_text(text)


def test_runs_of_a_round_are_submitted_together_with_requests(run: Run, clone: Path) -> None:
    runs_of_jobs = {
        re.sub(r"\W|_", "", job["Comment"].partition("_wildcards_")[2]): job for job in run.jobs_of("weigh")
    }
    (file,) = (clone / RESULTS).rglob("round~0.json")
    jobs = [runs_of_jobs[re.sub(r"\W|_", "", path)] for path in json.loads(file.read_text())["runs"]]
    assert len(jobs) >= len(STACKS), "the round requested no runs"
    assert max(job["SubmitTime"] for job in jobs) < min(job["EndTime"] for job in jobs)
    requests_mb = [int(match[1]) for job in jobs if (match := re.search(r"mem=(\d+)M", job["TRES"]))]
    assert len(requests_mb) == len(jobs)
    assert max(requests_mb) < ESTIMATE_MB, "a cell that has run still requests the estimate"
