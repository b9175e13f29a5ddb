"""The tiny config's tokenisation through a real Slurm, held against the same on this machine."""

from pathlib import Path

import pandas as pd
import pytest

from ..conftest import Run
from .conftest import Slurm

pytestmark = [pytest.mark.slurm, pytest.mark.slow, pytest.mark.end_to_end]

TINY = ("--configfile", "config/tiny.yaml")
CELL = ["experiment", "stack", "corpus", "mode", "shards", "num_files", "batch_size", "writer_batch_size"]
CELL += ["num_proc", "cache", "stop_after", "rep"]
# Too little for the largest cells of june-2023, enough for the others: a killed job must come back with more.
SCARCE_MB = 600


def cells(results: Path) -> dict[tuple[object, ...], tuple[str, object]]:
    runs = pd.read_parquet(results / "tables" / "runs.parquet")
    assert runs["ids_agree"].dropna().all()
    ids = runs["ids_sha256"].fillna("none")
    return dict(zip(runs[CELL].itertuples(index=False, name=None), zip(runs["outcome"], ids, strict=True), strict=True))


def test_slurm_gives_the_same_cells_and_ids_and_a_job_killed_for_memory_comes_back(
    one_node: Slurm, clone: Path, run_in: Run
) -> None:
    (clone / "part.yaml").write_text("only: [growth, sharded, staircase, batches]\n")
    local = run_in("snakemake", "tokenize", "--cores", "2", *TINY, "part.yaml")
    assert local.returncode == 0, local.stderr[-4000:]
    scarce = f"results: results-slurm\nexperiments: {{growth: {{memory_mb: {SCARCE_MB}}}}}\n"
    (clone / "slurm.yaml").write_text(scarce)
    run = one_node.snakemake("tokenize", *TINY, "part.yaml", "slurm.yaml", cwd=clone, timeout=1500)
    here, there = cells(clone / "results-tiny"), cells(clone / "results-slurm")
    assert here == there
    assert len(here) > 10
    # The victim was in a group of its own below the job's, so Slurm sees the job fail, and the kernel says why.
    assert "by SIGKILL, killed for want of memory" in run.output, "no job was killed for memory"
    failed = [job for job in run.jobs_of("weigh") if job["JobState"] != "COMPLETED"]
    assert failed
    assert len(run.jobs_of("weigh")) == len(failed) + sum(1 for cell in here if cell[9] in ("cold", "warm"))
