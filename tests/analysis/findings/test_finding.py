"""Undecided results are counted."""

import re

import pandas as pd

from beyond_ram.analysis.findings import undecided


def test_undecided_results_are_counted():
    comparisons = pd.DataFrame(
        {
            "result": ["better", "undecided", "undecided", "undecided"],
            "reason": ["", "too noisy", "too noisy", "too few repeats"],
            "before": "old",
            "after": "new",
            "family": ["planned", "planned", "exploratory", "planned"],
            "metric": ["end_kept_bytes", "end_kept_bytes", "peak_kept_bytes", "cpu_s"],
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
