"""Table `limits`."""

import pandas as pd
import pytest

from beyond_ram.analysis.limits import limits

MIB = 1 << 20
PEAK = {"rss_bytes": 300, "pss_bytes": 220, "anon_bytes": 160, "anon_upper_bound_bytes": 190, "file_bytes": 0}
PEAK = {name: size * MIB for name, size in PEAK.items()} | {"cgroup_bytes": None}


def run(**limit):
    cell = {"experiment": "e", "stack": "s", "rep": 1}
    return {"cell": cell, "completed_work": True, "peak": PEAK, "duration_s": 2.0, "limit": limit}, []


def probe(limit_mib, duration_s, **more):
    return {
        "limit_bytes": limit_mib * MIB,
        "duration_s": duration_s,
        "outcome": "completed",
        "completed_work": True,
    } | more


def test_errors_of_readings_are_shares_of_the_smallest_limit():
    probes = [probe(400, 2.1, major_faults=0), probe(200, 3.0, major_faults=7), probe(200, 2.5, major_faults=3)]
    probes += [probe(180, 1.0, outcome="killed_at_limit", completed_work=False), probe(180, 1.0)]
    line = limits([run(killed_at_bytes=180 * MIB, completed_at_bytes=200 * MIB, probes=probes)]).iloc[0]
    assert (line["ended_at_bytes"], line["completed_at_bytes"], line["probes"]) == (180 * MIB, 200 * MIB, 5)
    assert (line["ended_runs"], line["ended_of_runs"]) == (1, 2)
    assert line["error_rss"] == pytest.approx(0.5)
    assert line["error_anon"] == pytest.approx(-0.2)
    assert line["error_anon_upper_bound"] == pytest.approx(-0.05)
    assert pd.isna(line["error_cgroup"])
    assert not [name for name in line.index if "pss" in name], "PSS is read too rarely to predict a peak"
    assert line["request_bytes"] == 214 * MIB, "190 and a tenth, 4 MiB of room, whole steps of 2 MiB"
    assert line["error_ask"] == pytest.approx(0.07)
    assert line["time_ratio"] == 1.5


@pytest.mark.parametrize(
    ("ends", "ended"),
    [
        ({"killed_at_bytes": 180 * MIB}, "killed"),
        ({"killed_at_bytes": None, "timed_out_at_bytes": 180 * MIB}, "not done in time"),
        ({"killed_at_bytes": 100 * MIB, "failed_at_bytes": 180 * MIB}, "failed"),
    ],
)
def test_largest_limit_that_did_not_suffice_says_how_the_run_ended(ends, ended):
    line = limits([run(completed_at_bytes=200 * MIB, **ends)]).iloc[0]
    assert (line["ended_at_bytes"], line["ended"]) == (180 * MIB, ended)


def test_line_without_limits_has_only_the_reason():
    line = limits([run(not_run="no memory controller")]).iloc[0]
    assert line["not_run"] == "no memory controller"
    assert line[["completed_at_bytes", "ended_at_bytes", "error_rss", "time_ratio"]].isna().all()


def test_failed_run_has_no_smallest_limit():
    record, events = run(killed_at_bytes=180 * MIB, completed_at_bytes=200 * MIB)
    record |= {"completed_work": False, "outcome": "failed", "reason": "disk full"}
    line = limits([(record, events)]).iloc[0]
    assert line["not_run"] == "failed: disk full"
    assert line[["completed_at_bytes", "ended_at_bytes", "error_rss", "error_ask"]].isna().all()


def test_runs_without_a_limit_search_have_no_line():
    without = {"cell": {"experiment": "e", "stack": "s"}, "peak": PEAK, "duration_s": 1.0}
    assert limits([(without, [])]).empty
    assert "completed_at_bytes" in limits([])
