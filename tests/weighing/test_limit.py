"""The smallest limit, found with real limits, of programs whose need is known."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from beyond_ram.analysis.limits import limits
from beyond_ram.experiment import WORKLOADS
from beyond_ram.watch import groups
from beyond_ram.weighing.cell import Setting
from beyond_ram.weighing.limit import weigh_limit

from ..watch.conftest import needs_group

ROOT = Path(__file__).parents[2]
MB = 1_000_000


def weigh(folder: Path, workload: str, **axes: Any) -> dict[str, Any]:
    matrix = {"stack": ["current"]} | {axis: [value] for axis, value in axes.items()}
    experiment = WORKLOADS[workload].model_validate({"workload": workload, "find_limit": True, "matrix": matrix})
    (cell,) = experiment.cells("limits")
    job = experiment.job(cell, SimpleNamespace())  # type: ignore[arg-type]
    job = job.but(program=str(ROOT / job.program))
    weigh_limit(Setting(job, sys.executable, ROOT / "envs" / "current.txt", folder / "private"), folder / "runs")
    record: dict[str, Any] = json.loads((folder / "runs" / cell.path / "run.json").read_text())
    return record


@pytest.mark.slow
@pytest.mark.cgroup
@needs_group
def test_memory_that_cannot_be_reclaimed_is_what_the_limit_needs(tmp_path: Path) -> None:
    record = weigh(tmp_path, "planted", case="list", size_mb=80, epochs=1)
    limit = record["limit"]
    assert limit["killed_at_bytes"] < limit["completed_at_bytes"] <= 1.05 * limit["killed_at_bytes"]
    assert limit["completed_at_bytes"] == pytest.approx(record["peak"]["anon_upper_bound_bytes"], rel=0.15)
    for probe in limit["probes"]:
        assert probe["completed_work"] == (probe["limit_bytes"] >= limit["completed_at_bytes"])
        assert probe["cgroup_bytes"] <= probe["limit_bytes"]
    assert {probe["outcome"] for probe in limit["probes"]} == {"killed_at_limit", "completed"}
    line = limits([(record, [])]).iloc[0]
    assert abs(line["error_anon_upper_bound"]) < 0.15
    assert line["time_ratio"] > 0.3


@pytest.mark.slow
@pytest.mark.cgroup
@needs_group
def test_mapped_files_need_no_room(tmp_path: Path) -> None:
    record = weigh(tmp_path, "scan", size_mb=60)
    assert record["peak"]["rss_bytes"] > 60 * MB
    assert record["limit"]["completed_at_bytes"] < 50 * MB
    assert limits([(record, [])]).iloc[0]["error_rss"] > 1
    assert not (tmp_path / "private").exists(), "private folders are left"


@pytest.mark.slow
def test_without_a_group_nothing_is_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(limit_bytes: int | None = None) -> groups.Group:
        raise groups.GroupError("the memory controller is not delegated to us")

    monkeypatch.setattr(groups, "make", none)
    record = weigh(tmp_path, "planted", case="flat", size_mb=10, epochs=1)
    assert record["limit"]["not_run"] == "no memory limit can be set here: the memory controller is not delegated to us"
    line = limits([(record, [])]).iloc[0]
    assert line["completed_at_bytes"] is None
    assert line["not_run"]


@pytest.mark.slow
def test_a_run_that_is_too_slow_is_not_said_to_be_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def probe(_: Setting, limit_bytes: int, __: float) -> dict[str, Any]:
        outcome = "killed_at_limit" if limit_bytes < 20 * MB else "timed_out" if limit_bytes < 40 * MB else "completed"
        known = {"duration_s": 1.0, "major_faults": 0, "completed_work": outcome == "completed"}
        return known | {"limit_bytes": limit_bytes, "outcome": outcome}

    monkeypatch.setattr("beyond_ram.weighing.limit._probe", probe)
    limit = weigh(tmp_path, "planted", case="flat", size_mb=10, epochs=1)["limit"]
    assert (limit["killed_at_bytes"] or 0) < 20 * MB < limit["timed_out_at_bytes"] < 40 * MB
    assert limit["timed_out_at_bytes"] < limit["completed_at_bytes"] <= 1.05 * limit["timed_out_at_bytes"]
