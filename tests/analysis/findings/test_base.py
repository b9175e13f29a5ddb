"""Findings of one cause are told once; what could not be decided is counted."""

import pandas as pd

from beyond_ram.analysis.findings import Finding, undecided
from beyond_ram.analysis.findings.base import one_per_cause


def finding(title: str, strength: float, **more: object) -> Finding:
    return Finding(title, f"Text of {title}.", "", "e", strength, **more)  # type: ignore[arg-type]


def test_the_strongest_of_a_cause_leads_and_the_others_are_with_it() -> None:
    found = one_per_cause(
        [
            finding("weak", 2.0, cause=("a",), action="Do it.", seen=({"stack": "x"},)),
            finding("alone", 3.0),
            finding("strong", 4.0, cause=("a",), action="Do it.", seen=({"stack": "y"},)),
            finding("alone too", 1.0),
        ]
    )
    assert [one.title for one in found] == ["strong", "alone", "alone too"]
    assert found[0].more == (("weak", "Text of weak."),)
    assert [line["stack"] for line in found[0].seen] == ["y", "x"]
    assert found[0].action == "Do it."


def test_of_one_cause_with_two_pieces_of_advice_none_is_given() -> None:
    found = one_per_cause([finding(n, 2.0, cause=("a",), action=n) for n in ("Choose x.", "Choose y.")])
    assert [one.action for one in found] == [""]


def test_what_could_not_be_decided_is_counted() -> None:
    comparisons = pd.DataFrame(
        {"verdict": ["better", "not shown", "not shown", "not enough data"], "ratio": [2.0, 1.1, None, None]}
    ).assign(could_see=[1.0, 1.5, 9.0, None])
    verdicts = pd.DataFrame({"verdict": ["held", "undecided"]})
    runs = pd.DataFrame({"outcome": ["completed", "failed", "not_applicable"], "completed_work": [True, False, False]})
    runs = runs.assign(experiment=["a", "a", "pinned"], reason=["", "late", "there is no accelerator"])
    said = undecided({"comparisons": comparisons, "verdicts": verdicts, "runs": runs})
    assert said == [
        "1 of 4 comparisons have fewer than two values on a side: too few to decide.",
        "2 of 4 comparisons show neither a difference nor that there is none. Of these, 1 compares a ratio: a ratio of "
        "1.50 could have been seen.",
        "Why memory grew is undecided in 1 of 2 cells.",
        "1 of 3 runs did not finish their work, and no average has them in it.",
        "1 of 3 runs means nothing here: pinned (there is no accelerator).",
    ]
    assert undecided({}) == []
    assert undecided({"verdicts": verdicts.head(1)}) == []
