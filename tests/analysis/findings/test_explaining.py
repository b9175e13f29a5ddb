"""What is found in the tables of tokenisation, from lines made by hand."""

import math

import pandas as pd
import pytest

from beyond_ram.analysis.findings import explaining, findings

from ..by_hand import MB

CELL = {"experiment": "e", "stack": "new"}


def titles(**tables: list[dict[str, object]]) -> list[str]:
    made = {name: pd.DataFrame([CELL | line for line in lines]) for name, lines in tables.items()}
    return [finding.title for source in explaining.SOURCES for finding in source(made)]


def slope(stack: str, middle: float, low: float, high: float, **cell: object) -> dict[str, object]:
    line = {"stack": stack, "mode": "basic", "corpus": "c", "cache": "cold", "n": 16, "runs": 2, "bytes_in_max": 33e6}
    line |= {"readings_of": "documents", "anon_shape": "straight" if low > 0 else "not shown to grow"}
    line |= {"anon_level_mb": math.nan, "anon_intercept_mb": 150.0, "gb_over_largest": 30.3}
    ends = {"": middle, "_low": low, "_high": high}
    return line | {f"anon_slope_mb_per_gb{end}": value for end, value in ends.items()} | against("") | cell


def against(stack: str, middle: float = math.nan, half: float = math.nan, strength: float = 0.0) -> dict[str, object]:
    """What a line is held against."""
    said = "not shown" if not strength else "better" if middle < 0 else "worse"
    ends = {"mb_per_gb": middle, "low": middle - half, "high": middle + half, "strength": strength, "verdict": said}
    return {"against": stack} | {f"difference_{end}": value for end, value in ends.items()}


def test_no_lines_are_no_findings() -> None:
    assert titles(growth=[], verdicts=[], remedies=[], regrowth=[], ladders=[], limits=[]) == []


def test_stacks_are_told_apart_where_the_pair_by_document_is() -> None:
    old, new = slope("old", 17_000, 14_000, 20_000), slope("new", 10, -100, 120)
    apart = [old, new | against("old", -16_990, 300, 2.0)]
    assert titles(growth=apart) == ["new keeps 16.99 MB less anonymous memory per MB of text than old"]
    alone = titles(growth=[old, new | against("old", -16_990, 20_000)])
    assert alone[0] == (
        "old: anonymous memory grows straight, 17.00 MB per MB of text (95 % 14.00 to 20.00); 16 readings, 2 runs"
    )
    assert alone[1] == "new: anonymous memory was not shown to grow; 16 readings, 2 runs"
    elsewhere = [old | {"mode": "shard"}, apart[1]]
    assert not any("less" in title for title in titles(growth=elsewhere)), "another cell"


def test_what_was_not_shown_to_grow_has_no_strength_and_a_gigabyte_was_not_weighed() -> None:
    made = pd.DataFrame([CELL | slope("old", 17_000, 14_000, 20_000), CELL | slope("new", 9_000, -100, 18_000)])
    old, new = explaining._growth({"growth": made})
    assert old.strength > 2
    assert new.strength == 1, "the strength of no difference"
    assert "A gigabyte would be 30 times the largest input, and was not weighed." in old.text
    shorter = [finding.strength for finding in explaining._growth({"growth": made.assign(bytes_in_max=1e6)})]
    assert shorter[0] < old.strength, "it is of what was weighed"


def test_of_a_stack_the_cell_that_grew_most_is_told() -> None:
    known = {"verdict": "held", "sentence": "s", "evidence": "e"}
    lines = [known | {"owner": owner, "anon_grown_bytes": mb * MB} for owner, mb in (("list", 20), ("cache", 200))]
    lines.append(known | {"owner": "", "verdict": "undecided", "anon_grown_bytes": 900 * MB})
    assert titles(verdicts=lines) == ["new: held by cache"]


def test_remedies_that_do_nothing() -> None:
    known = {"metric": "grown_anon_bytes", "without": 100 * MB, "with": 10 * MB, "n": 4}
    effects = {"good": (0.5, "helps"), "better": (0.1, "helps"), "idle": (1.0, "nothing"), "bad": (2.0, "harms")}
    lines = [
        known | {"remedy": name, "ratio": ratio, "low": ratio, "high": ratio, "effect": effect}
        for name, (ratio, effect) in effects.items()
    ]
    assert titles(remedies=lines) == ["Does nothing for the growth (new): idle"]


@pytest.mark.parametrize(("verdict", "found"), [("grows", 1), ("levels off", 0)])
def test_what_grows_with_every_epoch(verdict: str, found: int) -> None:
    line = {"regrowth": verdict, "epoch_input_bytes": 9 * MB, "slope_bytes": MB, "subject": "x"}
    line |= {"slope_bytes_low": 0.9 * MB, "slope_bytes_high": 1.1 * MB}
    assert sum(title.startswith("Grows with every epoch: new") for title in titles(regrowth=[line])) == found


@pytest.mark.parametrize("significant", [True, False])
def test_steps_between_releases(significant: bool) -> None:
    line = {"factor": "datasets", "metric": "grown_anon_bytes", "from_version": "1", "to_version": "2"}
    line |= {"from_value": 100 * MB, "to_value": 10 * MB, "ratio": 0.1, "low": math.nan, "high": math.nan, "n": 1}
    found = titles(ladders=[line | {"neighbours": True, "significant": significant}])
    assert found == (["datasets 2: 10 MB, where 1 has 100"] if significant else [])


def test_how_much_memory_is_needed() -> None:
    line = {"completed_at_bytes": 200 * MB, "killed_at_bytes": 190 * MB, "peak_rss_bytes": 800 * MB, "time_ratio": 1.1}
    line |= {"nearest_predictor": "peak PSS", "ask_bytes": 300 * MB, "mode": "basic"}
    assert titles(limits=[line]) == ["e, new, basic: needs 200 MB, and shows 800 MB of RSS"]
    assert titles(limits=[line | {"completed_at_bytes": None}]) == []


def test_the_strongest_finding_comes_first() -> None:
    slopes = pd.DataFrame([CELL | slope("old", 17_000, 14_000, 20_000, bytes_in_max=1e9)])
    line = CELL | {"completed_at_bytes": 200.0, "killed_at_bytes": 190.0, "peak_rss_bytes": 800.0, "time_ratio": 1.1}
    limit = pd.DataFrame([line | {"nearest_predictor": "x", "ask_bytes": 1.0}])
    found = findings({"limits": limit, "growth": slopes})
    assert [finding.figure for finding in found] == ["growth_by_input", "smallest_limit"]
    assert found[1].strength == pytest.approx(4)
