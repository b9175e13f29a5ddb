"""Further repeats on a real Slurm: one job runs them all, and the job after a cancelled one goes on."""

import re

import pytest

from ..conftest import link_stack
from ..rules.test_further import FURTHER, place_of
from .conftest import until

pytestmark = [pytest.mark.slow, pytest.mark.end_to_end, pytest.mark.release]


def test_job_after_a_cancelled_one_goes_on(slurm, clone):
    link_stack("current", clone)
    place = place_of(clone, lambda *_: None, "slurmed")
    kept = {}

    def cancel():
        blocks = place.results / "campaigns/further/blocks.jsonl"
        until(lambda: blocks.exists() and blocks.read_text(), "a complete block")
        kept.update({run: record["started_at"] for run, record in place.records().items() if run[2] == 3})
        jobs = re.findall(r"^(\d+) rule_further", slurm.call("squeue", "--noheader", "--format=%i %k"), re.MULTILINE)
        slurm.call("scancel", *jobs)

    run = slurm.snakemake(*place.words(), cwd=clone, timeout=400, meanwhile=cancel)
    first, second = run.jobs_of("further")
    assert (first["JobState"], second["JobState"]) == ("CANCELLED", "COMPLETED")
    assert [job["TimeLimit"] for job in (first, second)] == ["01:10:00"] * 2
    (requested_mb,) = (int(match[1]) for match in [re.search(r"mem=(\d+)M", first["TRES"])] if match)
    assert requested_mb < 1500, "the cells have run, so the estimate of 4 GB is not requested"
    assert place.listed() == FURTHER
    records = place.records()
    assert {run: records[run]["started_at"] for run in kept} == kept
