"""Table `comparisons`: which sides are compared, and how lines are corrected together."""

import math

import numpy as np
import pandas as pd
import pytest

from beyond_ram.analysis.comparisons import COLUMNS, comparisons
from beyond_ram.analysis.decide import false_discovery, holm

MB = 1e6


def runs(workload="tokenize", n=3, outcome="completed", **line):
    """Repeats of a cell, in blocks; `grown` and `rate` are the middle of their values."""
    rng = np.random.default_rng(sum(map(ord, str(sorted(line.items())))))
    cell = {"experiment": "e", "stack": "new", "workload": workload, "reason": ""}
    grown, rate = line.pop("grown", 100.0), line.pop("rate", 1000.0)
    return [
        cell
        | {"outcome": outcome, "completed_work": outcome == "completed", "rep": rep, "started_at": 100.0 * rep}
        | {"duration_s": 5.0, "grown_anon_bytes": grown * MB * math.exp(0.001 * rng.normal())}
        | {"tokens_per_cpu_s": rate * math.exp(0.01 * rng.normal())}
        | line
        for rep in range(1, n + 1)
    ]


def table(*cells, pairs=None):
    return comparisons(pd.DataFrame([line for cell in cells for line in cell]), pairs or [("old", "new")])


def test_only_configured_pairs_of_stacks_are_compared():
    results = table(*(runs(stack=stack, grown=grown) for stack, grown in (("old", 400), ("new", 100), ("other", 100))))
    assert results[["axis", "before", "after"]].drop_duplicates().to_numpy().tolist() == [["stack", "old", "new"]]
    line = results.query("axis == 'stack' and metric == 'grown_anon_bytes'").iloc[0]
    assert line["result"] == "better"
    assert line["stack"] == "new"
    assert line["ratio"] == pytest.approx(0.25, rel=0.01)
    assert line["paired"]


def test_all_lines_are_corrected_together():
    remedies = [runs(remedy=f"r{i}", grown=100 + 3 * i) for i in range(6)]
    results = table(runs(remedy="none"), *remedies)
    assert len(results) == 12
    assert results["p_corrected"].tolist() == pytest.approx(holm(results["p"].tolist()))
    assert set(results["before"]) == {"none"}


def question(metric, axis="stack", **where):
    return {"experiment": "e", "metric": metric, "axis": axis, "where": where}


def test_planned_questions_are_corrected_apart_from_others():
    lines = [line for i in range(6) for line in runs(remedy=f"r{i}", grown=100 + 3 * i)]
    both = pd.DataFrame([*runs(remedy="none"), *lines])
    questions = [question("grown_anon_bytes", "remedy", remedy=["r1", "r2"])]
    results = comparisons(both, [("old", "new")], questions)
    planned = results["family"] == "planned"
    assert results.loc[planned, ["after", "metric"]].to_numpy().tolist() == [
        ["r1", "grown_anon_bytes"],
        ["r2", "grown_anon_bytes"],
    ]
    assert results.loc[planned, "p_corrected"].tolist() == pytest.approx(holm(results.loc[planned, "p"].tolist()))
    others = results[~planned]
    assert others["p_corrected"].tolist() == pytest.approx(false_discovery(others["p"].tolist()))
    assert set(comparisons(both, [], [])["family"]) == {"exploratory"}
    for line in results.to_dict("records"):
        assert (line["ratio"] / line["detectable"] > 1 or line["ratio"] * line["detectable"] < 1) == line["confirmed"]


def test_runs_that_all_have_nothing_are_the_same():
    lines = [line | {"grown_anon_bytes": 0.0} for stack in ("old", "new") for line in runs(stack=stack, n=2)]
    results = comparisons(pd.DataFrame(lines), [("old", "new")]).set_index("metric")
    assert results["result"]["grown_anon_bytes"] == "same"


def test_smallest_and_largest_batch_sizes_are_compared():
    cells = [runs(batch_size=b, writer_batch_size=w) for b in (1, 2, 4) for w in (1, 4)]
    results = table(*cells).query("axis == 'batch_size' and metric == 'grown_anon_bytes'")
    assert results[["before", "after", "writer_batch_size"]].to_numpy().tolist() == [["1", "4", 1], ["1", "4", 4]]


def test_workers_are_compared_with_none_for_any_start_method():
    others = runs(stack="old", grown=400)  # without that axis, so pandas makes its numbers floats
    cells = [
        runs("load", workers=w, start=s, loader="a", rows_per_cpu_s=r)
        for w, s, r in ((0, "none", 100.0), (4, "fork", 20.0))
    ]
    line = table(*cells, others).query("axis == 'workers' and metric == 'rows_per_cpu_s'").iloc[0]
    assert (line["before"], line["after"], line["start"]) == ("0", "4", "fork")


def test_metrics_of_other_workloads_are_not_decided():
    results = table(runs(stack="old"), runs(stack="new", peak_rss_bytes=1.0))
    assert set(results["metric"]) == {"grown_anon_bytes", "tokens_per_cpu_s"}


def test_clients_that_read_other_rows_are_not_compared():
    cells = [runs("stream", stack=s, rows=r, requests_metadata=9) for s, r in (("old", 5), ("new", 50))]
    assert table(*cells).empty
    cells = [runs("stream", stack=s, rows=5, requests_metadata=k) for s, k in (("old", 90), ("new", 9))]
    line = table(*cells).iloc[0]
    assert (line["exact"], line["result"]) == (False, "better")


def test_failing_side_is_worse():
    broken = runs("stream", stack="new", rows=50, outcome="failed", run_failed=1.0)
    results = table(runs("stream", stack="old", rows=5, run_failed=0.0), broken)
    assert results[["metric", "result", "exact"]].to_numpy().tolist() == [["run_failed", "worse", True]]
    assert results["strength"].iloc[0] > 1


def test_one_row_is_a_change_if_every_repeat_has_it():
    cells = [runs("load", stack=s, rows_at_fault=k) for s, k in (("old", 0), ("new", 1))]
    line = table(*cells).iloc[0]
    assert (line["metric"], line["result"], line["exact"]) == ("rows_at_fault", "worse", True)
    tokens = table(*(runs(stack=s, token_count=k) for s, k in (("old", 10**6), ("new", 10**6 - 1))))
    line = tokens[tokens["metric"] == "token_count"].iloc[0]
    assert (line["result"], line["reason"]) == ("worse", "not the same work")


def test_exact_lines_take_no_part_in_the_correction():
    cells = [runs(stack=s, grown=g, token_count=9) for s, g in (("old", 400), ("new", 100))]
    results = table(*cells)
    drawn = results[~results["exact"].astype(bool)]
    assert drawn["p_corrected"].tolist() == pytest.approx(holm(drawn["p"].tolist()))
    assert len(drawn) == len(results) - 1


def test_runs_with_faults_or_a_warm_cache_are_not_compared():
    assert table(*(runs("stream", stack=s, rows=5, requests_metadata=9, fault="drop") for s in ("old", "new"))).empty
    assert table(*(runs(stack=s, cache="warm") for s in ("old", "new"))).empty


def test_failed_run_is_counted_in_the_line():
    broken = [line | {"rep": 4, "reason": "disk full"} for line in runs(stack="new", n=1, outcome="failed")]
    line = table(runs(stack="old"), runs(stack="new") + broken).iloc[0]
    assert (line["runs"], line["finished"], line["failed"]) == (7, 6, 1)
    assert line["not_completed"] == "failed: disk full (1 of 7)"
    assert line["n"] == 3


def test_empty_table_has_the_same_columns():
    assert list(table(runs())) == COLUMNS
    assert list(comparisons(pd.DataFrame(), [])) == COLUMNS
