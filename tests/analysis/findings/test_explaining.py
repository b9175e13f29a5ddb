"""Findings from the tables of tokenisation, from hand-made lines."""

import itertools
import math

import pandas as pd
import pytest

from beyond_ram.analysis.findings import Finding, explaining

from ..by_hand import MB

CELL = {"experiment": "e", "stack": "new"}


def findings_of(**tables: list[dict[str, object]]) -> list[Finding]:
    frames = {name: pd.DataFrame([CELL | line for line in lines]) for name, lines in tables.items()}
    return [finding for source in explaining.SOURCES for finding in source(frames)]


def slope(stack: str, middle: float, low: float, high: float, **cell: object) -> dict[str, object]:
    line = {"stack": stack, "mode": "basic", "corpus": "c", "cache": "cold", "n": 16, "runs": 2}
    line |= {"bytes_in_min": 2e6, "bytes_in_max": 33e6}
    line |= {"readings_of": "documents", "anon_shape": "straight" if low > 0 else "undecided"}
    line |= {"anon_level_mb": math.nan, "anon_intercept_mb": 150.0, "gb_over_largest": 30.3}
    ends = {"": middle, "_low": low, "_high": high}
    return line | {f"anon_slope_mb_per_gb{end}": value for end, value in ends.items()} | against("") | cell


def against(stack: str, middle: float = math.nan, half: float = math.nan, strength: float = 0.0) -> dict[str, object]:
    """The columns of a line's comparison with another stack."""
    result = "undecided" if not strength else "better" if middle < 0 else "worse"
    ends = {"mb_per_gb": middle, "low": middle - half, "high": middle + half, "strength": strength, "result": result}
    return {"against": stack} | {f"difference_{end}": value for end, value in ends.items()}


def test_no_lines_are_no_findings() -> None:
    assert findings_of(growth=[], regrowth=[], ladders=[]) == []


def test_stacks_are_compared_in_pairs_by_document() -> None:
    old, new = slope("old", 17_000, 14_000, 20_000), slope("new", 10, -100, 120)
    apart = [old, new | against("old", -16_990, 300, 2.0)]
    (finding,) = findings_of(growth=apart)
    assert (finding.kind, finding.subject, finding.baseline) == ("growth difference", "new", "old")
    assert finding.effects[0].difference == pytest.approx(-16.99)
    assert finding.advice is not None
    assert (finding.advice.choose, finding.advice.instead_of) == (("new",), "old")
    alone = findings_of(growth=[old, new | against("old", -16_990, 20_000)])
    assert [(one.kind, one.subject, one.advice) for one in alone] == [("growth", "old", None), ("growth", "new", None)]
    little = [line | {"bytes_in_max": 4e6} for line in apart]
    assert {(one.kind, one.strength, one.advice) for one in findings_of(growth=little)} == {("growth", 1.0, None)}
    elsewhere = [old | {"mode": "shard"}, apart[1]]
    assert {one.kind for one in findings_of(growth=elsewhere)} == {"growth"}, "another cell"


def test_undecided_growth_has_no_strength() -> None:
    table = pd.DataFrame([CELL | slope("old", 17_000, 14_000, 20_000), CELL | slope("new", 9_000, -100, 18_000)])
    old, new = explaining._growth({"growth": table})
    assert old.strength > 2
    assert new.strength == 1, "the strength of no difference"
    assert "30 times the largest input" in old.text
    shorter = [finding.strength for finding in explaining._growth({"growth": table.assign(bytes_in_max=24e6)})]
    too_short = [finding.strength for finding in explaining._growth({"growth": table.assign(bytes_in_max=4e6)})]
    assert too_short == [1, 1], "a rate needs more text"
    assert shorter[0] < old.strength, "the strength is for the measured input"


REPEATED = {
    "regrowth": "grows",
    "epoch_input_bytes": 9 * MB,
    "slope_bytes": MB,
    "subject": "x",
    "n": 3,
    "epochs_read": 6,
}
REPEATED |= {"slope_bytes_low": 0.9 * MB, "slope_bytes_high": 1.1 * MB, "first_epoch_bytes": 10 * MB}


@pytest.mark.parametrize(
    ("changed", "number"),
    [
        ({}, 1),
        ({"regrowth": "levels off"}, 0),
        ({"regrowth": "undecided"}, 0),
        ({"regrowth": "undecided", "slope_bytes_low": math.nan}, 0),
        ({"slope_bytes_low": math.nan}, 0),
        ({"slope_bytes_low": -5 * MB}, 0),
    ],
)
def test_growth_with_every_epoch_is_a_finding(changed: dict[str, object], number: int) -> None:
    findings = list(explaining._regrowth({"regrowth": pd.DataFrame([CELL | REPEATED | changed])}))
    assert [(finding.subject, finding.scope.conditions) for finding in findings] == [("new", ("x",))] * number
    assert all(finding.strength == pytest.approx(1.54) for finding in findings), "at least 5.4 MB on top of 10"


STEP = {
    "ladder": "ladder",
    "factor": "datasets",
    "metric": "grown_anon_bytes",
    "from_version": "1",
    "to_version": "2",
    "neighbours": True,
}
STEP |= {"from_value": 100 * MB, "to_value": 10 * MB, "ratio": 0.1, "low": 0.05, "high": 0.2, "n": 3}


@pytest.mark.parametrize(
    ("changed", "number"),
    [
        ({"significant": True}, 1),
        ({"significant": False}, 0),
        ({"significant": True, "n": 1, "low": math.nan, "high": math.nan}, 0),
        ({"significant": True, "low": 0.01, "high": 3.0}, 0),
    ],
)
def test_confirmed_steps_between_releases_are_findings(changed: dict[str, object], number: int) -> None:
    steps = list(explaining._version_steps({"ladders": pd.DataFrame([CELL | STEP | changed])}))
    assert len(steps) == number
    for step in steps:
        assert (step.subject, step.baseline, step.facts["neighbours"]) == ("datasets 2", "1", True)
        assert (step.effects[0].baseline, step.effects[0].candidate) == (100 * MB, 10 * MB)
        assert step.advice is not None
        assert step.advice.choose == ("datasets 2 or later",)
        assert step.strength == pytest.approx(5), "the end of the interval nearest to 1"


def test_a_ratio_whose_interval_reaches_zero_is_written_as_a_difference() -> None:
    line = CELL | STEP | {"significant": True, "ratio": 0.01, "low": -0.02, "high": 0.04}
    (finding,) = explaining._version_steps({"ladders": pd.DataFrame([line])})
    assert "-99 MB (95 % -102 to -96, n = 3)" in finding.text


def test_bar_of_memory_that_levels_off_has_no_slope() -> None:
    old = slope("old", 17_000, 14_000, 20_000)
    new = slope("new", 3_000, -1000, 7_000) | against("old", -14_000, 300, 2.0)
    new |= {"anon_shape": "levels off", "anon_level_mb": 255.0, "anon_level_from_gb": 0.01}
    new |= {f"anon_level_mb_{end}": 255.0 for end in ("low", "high", "min", "max")}
    (finding,) = explaining._growth({"growth": pd.DataFrame([CELL | old, CELL | new])})
    assert [bar.text for bar in finding.bars] == ["17 MB per MB of text", "levels off at 255 MB"]


def ladder(*values: float) -> list[Finding]:
    """Findings of confirmed steps of a ladder of releases 1, 2, 3 …; equal values are no step."""
    lines = [
        STEP
        | {"significant": True, "from_version": str(number), "to_version": str(number + 1)}
        | {"from_value": before * MB, "to_value": after * MB, "ratio": after / before}
        | {"low": after / before * 0.9, "high": after / before * 1.1}
        for number, (before, after) in enumerate(itertools.pairwise(values), 1)
        if before != after
    ]
    return list(explaining._version_steps({"ladders": pd.DataFrame([CELL | line for line in lines])}))


@pytest.mark.parametrize(
    ("values", "choices"),
    [
        ((100, 10), [("datasets 2 or later",)]),
        ((100, 10, 10, 50), [("datasets 2 to 3",), ("datasets 3",)]),
        ((100, 500), [("datasets 1",)]),
        ((100, 500, 500, 101), [("datasets 1", "datasets 4 or later")]),
    ],
)
def test_equally_good_releases_are_named(values: tuple[float, ...], choices: list[tuple[str, ...]]) -> None:
    """REVIEW.md 3.12: a step that is back two releases later."""
    advice = [finding.advice.choose for finding in ladder(*values) if finding.advice]
    assert advice == choices
