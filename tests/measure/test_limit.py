"""The smallest limit of programs whose need is known, found with real limits."""

import json
import random
from types import SimpleNamespace

import pytest

from beyond_ram.analysis.limits import limits
from beyond_ram.experiment import WORKLOADS
from beyond_ram.experiment.scripts import Script
from beyond_ram.measure.limit import COMPLETIONS, TOLERANCE, LimitPolicy, measure_limit, next_limit
from beyond_ram.measure.plan import Run
from beyond_ram.watch import groups

from ..conftest import ROOT
from ..watch.conftest import needs_group
from .conftest import setting_of

MB = 1_000_000
MAPPING = """
import mmap
with open({file!r}, "rb") as file:
    mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
sum(mapped[at] for at in range(0, len(mapped), mmap.PAGESIZE))
"""


def measure(folder, text="", speed_share=None):
    """The record of a script's search."""
    (folder / "own.py").write_text(text)
    script = Script.model_construct(**{**Script(file="own.py").model_dump(), "file": str(folder / "own.py")})
    matrix = {"stack": ["current"], "script": ["own"]}
    settings = {"workload": "script", "find_limit": True, "matrix": matrix}
    experiment = WORKLOADS["script"].model_validate(settings)
    (cell,) = experiment.cells("limits")
    job = experiment.job(cell, SimpleNamespace(scripts={"own": script}))
    job = job.but(program=str(ROOT / job.program), limit_speed_share=speed_share)
    measure_limit(setting_of(job, folder), folder / "runs")
    return json.loads((folder / "runs" / cell.path / "run.json").read_text())


@pytest.mark.parametrize(("needed", "most"), [(0.98, 2), (1.0, 2), (1.02, 2), (1.2, 7), (0.6, 9), (10, 17)])
def test_search_takes_few_runs_where_the_guess_is_right(needed, most):
    """The guess is 1 GB, and this times as much is needed."""
    tried = []
    limit = 1_000_000_000
    bounds = {False: None, True: None}
    while limit:
        tried.append(limit)
        bounds[limit >= needed * 1e9] = limit
        limit = next_limit(bounds[False], bounds[True], len(tried))
    assert len(tried) <= most
    assert bounds[False] and bounds[True] and bounds[True] <= bounds[False] * (1 + TOLERANCE)


@pytest.mark.slow
def test_without_a_group_the_limit_is_not_run(tmp_path, monkeypatch):
    def none(limit_bytes=None):
        raise groups.GroupError("the memory controller is not delegated to us")

    monkeypatch.setattr(groups, "make", none)
    record = measure(tmp_path)
    assert record["limit"]["not_run"] == "no memory limit can be set here: the memory controller is not delegated to us"
    line = limits([(record, [])]).iloc[0]
    assert line["completed_at_bytes"] is None
    assert line["not_run"]


def search(once, share=None, known=()):
    """What a search says, and its runs: `once` gives outcome and seconds under a limit. The free run keeps 30 MB."""
    policy, runs = LimitPolicy("case", share), list(known)
    while blocks := policy.next(runs):
        for member in blocks[0].members:
            outcome, work_s = once(1 << 60 if member.side == "no limit" else int(member.side))
            values = {"kept_bytes": 30 * MB, "most_bytes": 40 * MB, "completed_work": outcome == "completed"}
            values |= {"work_s": work_s} | ({} if member.side == "no limit" else {"limit_bytes": int(member.side)})
            runs.append(Run(member, 1, blocks[0].name, outcome, values=values))
    return policy.search, runs


def test_slow_run_is_timed_out_not_killed():
    def once(limit_bytes):
        return "killed_at_limit" if limit_bytes < 20 * MB else "timed_out" if limit_bytes < 40 * MB else "completed", 1

    limit, _ = search(once)
    assert (limit["killed_at_bytes"] or 0) < 20 * MB < limit["timed_out_at_bytes"] < 40 * MB
    assert limit["timed_out_at_bytes"] < limit["completed_at_bytes"] <= 1.05 * limit["timed_out_at_bytes"]


def test_limit_under_which_some_runs_complete_is_not_enough():
    noise, limits = random.Random(1), []
    for _ in range(50):
        limit, runs = search(lambda size: ("completed" if noise.random() < size / (40 * MB) - 0.5 else "timed_out", 1))
        smallest = limit["completed_at_bytes"]
        at_limit = [run for run in runs if run.member.side == str(smallest)]
        assert [run.outcome for run in at_limit] == ["completed"] * COMPLETIONS
        assert limit["completed_runs"] == COMPLETIONS
        assert all(int(run.member.side) < smallest for run in runs if run.outcome != "completed")
        limits.append(smallest)
    assert sum(smallest > 40 * MB for smallest in limits) > 35, "there half of the runs complete"


@pytest.mark.parametrize("kept_from_mb", [20, 24])
def test_speed_is_decided_from_noisy_pairs_and_goes_on_from_any_run(kept_from_mb):
    noise = random.Random(1)

    def once(limit_bytes):
        slower = 1.0 if limit_bytes >= kept_from_mb * MB else 1.5
        return "completed" if limit_bytes >= 20 * MB else "killed_at_limit", noise.gauss(1.0, 0.03) * slower

    limit, runs = search(once, 0.9)
    assert limit["speed_kept_at_bytes"] >= limit["completed_at_bytes"]
    if kept_from_mb == 20:
        assert limit["speed_kept_at_bytes"] == limit["completed_at_bytes"]
        assert limit["slowed_at_bytes"] is None
    else:
        assert limit["slowed_at_bytes"] < 24 * MB <= limit["speed_kept_at_bytes"] <= 1.05 * limit["slowed_at_bytes"]
    ends = [n for n in range(1, len(runs)) if sum(run.block == "speed" for run in runs[:n]) % 2 == 0]
    assert all(search(once, 0.9, runs[:n])[1][n].member == runs[n].member for n in ends)


def test_run_that_is_killed_early_does_not_keep_its_speed():
    free = 0

    def once(limit_bytes):
        nonlocal free
        free += limit_bytes > 1000 * MB
        needed_mb = 20 if free < 2 else 24  # each pair of the second search begins with or follows a free run
        return ("completed", 1) if limit_bytes >= needed_mb * MB else ("killed_at_limit", 0.1)

    limit, _ = search(once, 0.9)
    assert limit["slowed_at_bytes"] < 24 * MB <= limit["speed_kept_at_bytes"] <= 1.05 * limit["slowed_at_bytes"]


def test_run_without_a_limit_that_fails_ends_the_search_for_speed():
    free = []

    def once(limit_bytes):
        free.append(limit_bytes > 1000 * MB)
        failed = limit_bytes < 20 * MB or free.count(True) == 2
        return "failed" if failed else "completed", 1

    limit, _ = search(once, 0.9)
    assert limit["completed_at_bytes"] and limit["speed_kept_at_bytes"] is None
    assert limit["speed_not_run"].startswith("a run without a limit failed")


@pytest.mark.slow
@pytest.mark.end_to_end
@needs_group
def test_mapped_files_need_no_room_below_a_limit(tmp_path, monkeypatch):
    """One pair of runs a limit and coarse steps are enough here: the tests above test the search.

    A busy machine does not make a run three times slower than the previous one.
    """
    monkeypatch.setattr("beyond_ram.measure.limit._LEAD", 1)
    monkeypatch.setattr("beyond_ram.measure.limit.TOLERANCE", 0.3)
    (tmp_path / "file").write_bytes(bytes(60 * MB))
    record = measure(tmp_path, MAPPING.format(file=str(tmp_path / "file")), speed_share=0.3)
    limit = record["limit"]
    assert limit["completed_at_bytes"] < 50 * MB < 60 * MB < record["peak"]["rss_bytes"]
    assert limits([(record, [])]).iloc[0]["error_rss"] > 0.5
    assert limit["completed_at_bytes"] <= limit["speed_kept_at_bytes"] <= 1.5 * record["peak"]["rss_bytes"]
    assert {probe["limit_bytes"] for probe in limit["speed_probes"]} >= {limit["completed_at_bytes"]}
    assert not (tmp_path / "private").exists(), "private folders are left"
