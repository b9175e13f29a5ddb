"""The rounds of a budget on a real Slurm: the runs of a round are submitted together, each with a memory request."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

from ..conftest import link_stack

if TYPE_CHECKING:
    from tests.slurm.conftest import Run, Slurm

pytestmark = [pytest.mark.slurm, pytest.mark.slow, pytest.mark.end_to_end]

RESULTS = "results-rounds"
ESTIMATE_MB = 900
BUDGET_S = 60
STACKS = ["tokenizers-alone", "current"]


@pytest.fixture(scope="module")
def run(slurm: Slurm, clone: Path) -> Run:
    """Two cells with the same tokenizers, whose question stays undecided until the budget is used up."""
    words = {"source": "synthetic", "documents": 2, "document_characters": [2000, 6000], "vocabulary": 50}
    noisy = {
        "workload": "soak",
        "memory_mb": ESTIMATE_MB,
        "questions": [{"metric": "tokens_per_cpu_s"}],
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
    for stack in ("corpora", *STACKS):
        link_stack(stack, clone)
    (clone / "rounds.yaml").write_text(yaml.safe_dump(config))
    return slurm.snakemake(f"{RESULTS}/tables/runs.csv", "--configfile", "rounds.yaml", cwd=clone, timeout=400)


def test_the_runs_of_a_round_are_submitted_together_with_a_request_each(run: Run, clone: Path) -> None:
    runs_of_jobs = {
        re.sub(r"\W|_", "", job["Comment"].partition("_wildcards_")[2]): job for job in run.jobs_of("weigh")
    }
    decisions = [json.loads(file.read_text()) for file in (clone / RESULTS).rglob("round~*.json")]
    requested = sorted((decision["runs"] for decision in decisions if not decision["done"]), key=len)
    if not requested and (used_s := max(one["used_s"] for one in decisions)) > BUDGET_S / 2:
        pytest.skip(f"this machine is too busy: four runs took {used_s:.0f} s of a budget of {BUDGET_S} s")
    assert requested, "no round requested a run"
    earlier: list[str] = []
    for runs in requested:
        jobs = [runs_of_jobs[re.sub(r"\W|_", "", path)] for path in runs if path not in earlier]
        assert len(jobs) >= len(STACKS)
        assert max(job["SubmitTime"] for job in jobs) < min(job["EndTime"] for job in jobs)
        requests_mb = [int(match[1]) for job in jobs if (match := re.search(r"mem=(\d+)M", job["TRES"]))]
        assert len(requests_mb) == len(jobs)
        assert max(requests_mb) < ESTIMATE_MB, "the request of a cell that has run is made from its run"
        earlier = runs
