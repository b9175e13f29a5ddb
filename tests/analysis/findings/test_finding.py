"""Undecided results are counted."""

import re

import pandas as pd

from beyond_ram.analysis.findings import unchanged, undecided


def test_undecided_results_are_counted():
    comparisons = pd.DataFrame(
        {
            "result": ["better", "undecided", "undecided", "undecided"],
            "reason": ["", "too noisy", "too noisy", "too few repeats"],
            "before": "old",
            "after": "new",
            "family": ["planned", "planned", "exploratory", "planned"],
            "metric": ["end_kept_bytes", "end_kept_bytes", "peak_kept_bytes", "cpu_s"],
            "n": [2, 2, 2, 1],
            "ratio": [2.0, 1.1, None, None],
            "detectable": [1.0, 1.5, 9.0, None],
        }
    )
    holders = pd.DataFrame({"experiment": "e", "stack": ["a", "a", "b"], "cause": ["held", "held", "undecided"]})
    runs = pd.DataFrame({"outcome": ["completed", "failed", "not_applicable"], "completed_work": [True, False, False]})
    runs = runs.assign(experiment=["a", "a", "pinned"], reason=["", "late", "there is no accelerator"])
    tables = {"comparisons": comparisons, "holders": holders, "runs": runs}
    assert [re.findall(r"^(\d+) of (\d+)|(\d+) of (\d+)", one) for one in undecided(tables)] == [
        [("1", "2", "", "")], [("1", "1", "", "")], [("1", "4", "", "")],
        [("", "", "1", "2")], [("1", "3", "", "")], [("1", "3", "", "")],
    ]  # fmt: skip
    planned, *_, absent = undecided(tables)
    assert "less than 50 %" in planned
    assert "pinned (there is no accelerator)" in absent
    assert undecided({}) == []
    assert undecided({"holders": holders.head(1)}) == []


def test_few_repeats_count_whatever_else_is_missing():
    lines = {"result": "undecided", "family": "planned", "ratio": None, "detectable": None}
    table = pd.DataFrame(
        [lines | {"n": n, "reason": reason} for n, reason in ((1, "too few repeats"), (1, "not seen"))]
    )
    assert undecided({"comparisons": table}) == ["2 of 2 comparisons have fewer than two readings on a side."]


def test_planned_questions_whose_answer_is_same_are_named():
    line = {"experiment": "e", "metric": "grown_anon_bytes", "axis": "workers", "before": "0", "after": "2"}
    line |= {"ratio": 1.01, "low": 0.98, "high": 1.03}
    lines = [line | {"result": result, "family": "planned"} for result in ("same", "undecided", "same")]
    lines[2] |= {"low": 0.97}
    lines.append(line | {"metric": "cpu_s", "result": "same", "family": "exploratory"})
    assert unchanged({"comparisons": pd.DataFrame(lines)}) == [
        "Heap growth: the same with no workers and 2 workers (0.97 to 1.03 times), in 2 of 3 settings of experiment e."
    ]
    assert unchanged({}) == unchanged({"comparisons": pd.DataFrame()}) == []
