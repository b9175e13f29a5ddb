"""Findings of one cause are merged, and undecided results are counted."""

import re
from typing import Any

import pandas as pd

from beyond_ram.analysis.findings import Finding, undecided
from beyond_ram.analysis.findings.finding import Advised, Scope, one_per_cause


def finding(subject: str, strength: float, **more: Any) -> Finding:
    return Finding(kind="rows", subject=subject, scope=Scope("e"), strength=strength, **more)


def test_strongest_finding_of_a_cause_leads_the_others() -> None:
    advice = Advised(("x",))
    merged = one_per_cause(
        [
            finding("weak", 2.0, cause=("a",), advice=advice, seen=({"stack": "x"},)),
            finding("alone", 3.0),
            finding("strong", 4.0, cause=("a",), advice=advice, seen=({"stack": "y"},)),
            finding("alone too", 1.0),
        ]
    )
    assert [one.subject for one in merged] == ["strong", "alone", "alone too"]
    assert [one.subject for one in merged[0].more] == ["weak"]
    assert [line["stack"] for line in merged[0].seen] == ["y", "x"]
    assert merged[0].advice == advice


def test_conflicting_advice_of_one_cause_is_dropped() -> None:
    merged = one_per_cause([finding(n, 2.0, cause=("a",), advice=Advised((n,))) for n in ("x", "y")])
    assert [one.advice for one in merged] == [None]


def test_undecided_results_are_counted() -> None:
    comparisons = pd.DataFrame(
        {
            "result": ["better", "undecided", "undecided", "undecided"],
            "reason": ["", "too noisy", "likely worse", "too few repeats"],
            "family": ["planned", "planned", "exploratory", "planned"],
            "ratio": [2.0, 1.1, None, None],
            "detectable": [1.0, 1.5, 9.0, None],
        }
    )
    holders = pd.DataFrame({"experiment": "e", "stack": ["a", "a", "b"], "cause": ["held", "held", "undecided"]})
    runs = pd.DataFrame({"outcome": ["completed", "failed", "not_applicable"], "completed_work": [True, False, False]})
    runs = runs.assign(experiment=["a", "a", "pinned"], reason=["", "late", "there is no accelerator"])
    tables = {"comparisons": comparisons, "holders": holders, "runs": runs}
    assert [re.findall(r"^(\d+) of (?:these )?(\d+)|(\d+) of (\d+)", one) for one in undecided(tables)] == [
        [("1", "2", "", "")], [("1", "1", "", "")], [("1", "2", "", "")], [("1", "4", "", "")],
        [("", "", "1", "2")], [("1", "3", "", "")], [("1", "3", "", "")],
    ]  # fmt: skip
    planned, *_, absent = undecided(tables)
    assert "less than 50 %" in planned
    assert "pinned (there is no accelerator)" in absent
    assert undecided({}) == []
    assert undecided({"holders": holders.head(1)}) == []
