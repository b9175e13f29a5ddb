"""Cells through a real Slurm, compared with the same cells on this machine."""

import shutil

import pandas as pd
import pytest
import yaml

from ..conftest import link_stack
from ..test_random_kills import CONFIG
from .conftest import REPOSITORY

pytestmark = [pytest.mark.slow, pytest.mark.end_to_end, pytest.mark.release]

CELL = ["experiment", "stack", "corpus", "mode", "num_files", "cache", "rep"]
# The first attempt has room for Snakemake and the watcher, the second also for the program.
KEEPS_500_MB, SCARCE_MB = "kept = [bytes(1000) for _ in range(500_000)]\n", 450
TOKENISED = {name: one for name, one in yaml.safe_load(CONFIG)["experiments"].items() if one["workload"] == "tokenize"}
EXPERIMENTS = {
    **TOKENISED,
    "scarce": {
        "workload": "script",
        "repeats": 1,
        "memory_mb": SCARCE_MB,
        "matrix": {"stack": ["current"], "script": ["keeps"]},
    },
}


def config(clone, results):
    """Write a config, and return the arguments that request its runs."""
    corpora = yaml.safe_load((REPOSITORY / "tests" / "micro.yaml").read_text())["corpora"]
    (clone / "keeps.py").write_text(KEEPS_500_MB)
    content = {"defaults": "none", "results": results, "corpora": corpora, "experiments": EXPERIMENTS}
    content |= {"scripts": {"keeps": {"file": "keeps.py"}}}
    (clone / f"{results}.yaml").write_text(yaml.safe_dump(content))
    return (f"{results}/tables/runs.csv", "--configfile", f"{results}.yaml")


def cells(results):
    runs = pd.read_parquet(results / "tables" / "runs.parquet")
    assert runs["ids_agree"].dropna().all()
    ids = runs["ids_sha256"].fillna("none")
    keys = runs[CELL].astype(object).fillna("none").itertuples(index=False, name=None)
    return dict(zip(keys, zip(runs["outcome"], ids, strict=True), strict=True))


def test_slurm_gives_the_same_results_and_retries_a_killed_job(one_node, clone, run_in):
    for stack in ("corpora", "current"):
        link_stack(stack, clone)
    local = run_in("snakemake", "--cores", "2", *config(clone, "results-here"))
    assert local.returncode == 0, local.stderr[-4000:]
    run = one_node.snakemake(*config(clone, "results-slurm"), cwd=clone, timeout=600)
    local_cells, slurm_cells = cells(clone / "results-here"), cells(clone / "results-slurm")
    assert local_cells == slurm_cells
    assert len(local_cells) == 4
    # The killed process was in a group below the job's, so Slurm reports a failed job, and the kernel gives the reason.
    assert "by SIGKILL, killed for want of memory" in run.output, "no job was killed for memory"
    jobs = [(job["JobState"] == "COMPLETED", "scarce" in job["Comment"]) for job in run.jobs_of("measure")]
    assert sorted(jobs) == [(False, True), (True, False), (True, True)]
    assert [job["JobState"] for job in run.jobs_of("measure_interrupted")] == ["COMPLETED"]
    shutil.rmtree(clone / "results-slurm/runs/growth")
    again = one_node.snakemake(*config(clone, "results-slurm"), cwd=clone, timeout=600)
    jobs = [len(again.jobs_of(rule)) for rule in ("measure", "measure_interrupted", "collect", "table_runs")]
    assert jobs == [1, 0, 1, 1]
    assert cells(clone / "results-slurm") == local_cells
