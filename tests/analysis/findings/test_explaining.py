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
    assert titles(growth=apart) == ["new keeps 17 MB less anonymous memory per MB of text than old"]
    alone = titles(growth=[old, new | against("old", -16_990, 20_000)])
    assert alone[0] == (
        "old: anonymous memory grows straight, 17.00 MB per MB of text (95 % 14.00 to 20.00); "
        "16 readings in each of 2 runs"
    )
    assert alone[1] == "new: anonymous memory was not shown to grow; 16 readings in each of 2 runs"
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


def judged(owner: str, mb: float, verdict: str = "held", n: int = 3, low: float = math.nan) -> dict[str, object]:
    ends = {"anon_grown_bytes_low": low * MB, "anon_grown_bytes_high": 2 * mb * MB, "imported_anon_bytes": 100 * MB}
    said = {"verdict": verdict, "sentence": "s", "evidence": "e", "owner": owner, "n": n}
    return said | {"anon_grown_bytes": mb * MB} | ends


def test_of_a_stack_the_cell_that_grew_most_is_told() -> None:
    lines = [judged("list", 20), judged("cache", 200, low=100), judged("", 900, "undecided")]
    (found,) = explaining._owners({"verdicts": pd.DataFrame([CELL | line for line in lines])})
    assert found.title == "new: cache held most of what grew, in each of 3 runs"
    assert (
        "All cells of this stack, 3: list held most of it in 1, cache held most of it in 1, undecided in 1."
        in found.text
    )
    assert len(found.seen) == 1, "another owner is no case of this one"
    assert found.strength == pytest.approx(2), "100 MB after the imports, and 100 more for sure"


def test_one_run_of_an_owner_is_called_one_and_has_no_strength() -> None:
    table = pd.DataFrame([CELL | judged("cache", 2000, n=1) | {"asked": 3, "failed": 2}])
    (found,) = explaining._owners({"verdicts": table})
    assert found.title == "new: cache held most of what grew, in one run"
    assert "2 of 3 runs failed." in found.text
    assert found.strength == 1


def test_wild_growth_has_no_strength() -> None:
    (found,) = explaining._owners({"verdicts": pd.DataFrame([CELL | judged("cache", 2000, n=2, low=-9000)])})
    assert found.strength == 1


def test_remedies_that_do_nothing() -> None:
    known = {"metric": "grown_anon_bytes", "without": 100 * MB, "with": 10 * MB, "n": 4}
    effects = {"good": (0.5, "helps"), "better": (0.1, "helps"), "idle": (1.0, "nothing"), "bad": (2.0, "harms")}
    lines = [
        known | {"remedy": name, "ratio": ratio, "low": ratio, "high": ratio, "effect": effect}
        for name, (ratio, effect) in effects.items()
    ]
    assert titles(remedies=lines) == ["No effect on the growth that matters (new): idle"]
    elsewhere = [lines[2] | {"effect": "helps", "num_files": 9}]
    assert titles(remedies=[*lines, *elsewhere]) == [], "it does something in another cell"


@pytest.mark.parametrize("effect", ["helps", "harms", "not shown", "not enough data", "not run"])
def test_a_remedy_that_was_not_shown_to_do_nothing_is_not_called_idle(effect: str) -> None:
    line = {"metric": "grown_anon_bytes", "without": 1e8, "n": 1, "remedy": "x", "ratio": 1.0, "low": 1.0, "high": 1.0}
    assert titles(remedies=[line | {"effect": effect}]) == []


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
    ("changed", "found"),
    [
        ({}, 1),
        ({"regrowth": "levels off"}, 0),
        ({"regrowth": "unclear"}, 0),
        ({"regrowth": "one run", "slope_bytes_low": math.nan}, 0),
        ({"slope_bytes_low": math.nan}, 0),
        ({"slope_bytes_low": -5 * MB}, 0),
    ],
)
def test_what_grows_with_every_epoch(changed: dict[str, object], found: int) -> None:
    said = list(explaining._regrowth({"regrowth": pd.DataFrame([CELL | REPEATED | changed])}))
    assert [finding.title for finding in said] == ["Grows with every epoch: new, x"] * found
    assert all("n = 3 runs" in finding.text for finding in said)
    assert all(finding.strength == pytest.approx(1.54) for finding in said), "5.4 MB for sure, on 10"


STEP = {
    "ladder": "sweep",
    "factor": "datasets",
    "metric": "grown_anon_bytes",
    "from_version": "1",
    "to_version": "2",
    "neighbours": True,
}
STEP |= {"from_value": 100 * MB, "to_value": 10 * MB, "ratio": 0.1, "low": 0.05, "high": 0.2, "n": 3}


@pytest.mark.parametrize(
    ("changed", "found"),
    [
        ({"significant": True}, 1),
        ({"significant": False}, 0),
        ({"significant": True, "n": 1, "low": math.nan, "high": math.nan}, 0),
        ({"significant": True, "low": 0.01, "high": 3.0}, 0),
    ],
)
def test_steps_between_releases(changed: dict[str, object], found: int) -> None:
    said = list(explaining._version_steps({"ladders": pd.DataFrame([CELL | STEP | changed])}))
    assert [finding.title for finding in said] == [
        "datasets 2: Growth of anonymous memory since the imports, 10 MB, where 1 has 100 MB"
    ] * found
    assert all(finding.strength == pytest.approx(5) for finding in said), "the end of the interval nearest to 1"


def test_a_ratio_is_never_below_none() -> None:
    known = CELL | STEP | {"significant": True, "ratio": 0.01, "low": -0.02, "high": 0.04}
    (found,) = explaining._version_steps({"ladders": pd.DataFrame([known])})
    assert "-99 MB (95 % -102 to -96), n = " in found.text


def test_what_levels_off_has_no_slope_in_its_picture() -> None:
    old = slope("old", 17_000, 14_000, 20_000)
    new = slope("new", 3_000, -1000, 7_000) | against("old", -14_000, 300, 2.0)
    new |= {"anon_shape": "levels off", "anon_level_mb": 255.0}
    (found,) = explaining._growth({"growth": pd.DataFrame([CELL | old, CELL | new])})
    assert [bar.said for bar in found.bars] == ["17 MB per MB of text", "levels off at 255 MB"]


LIMIT = {"completed_at_bytes": 200 * MB, "killed_at_bytes": 190 * MB, "peak_rss_bytes": 800 * MB, "time_ratio": 1.1}
LIMIT |= {"nearest_predictor": "peak PSS", "ask_bytes": 300 * MB, "mode": "basic", "probes": 5}


def limited(*lines: dict[str, object]) -> list[explaining.Finding]:
    table = pd.DataFrame([CELL | LIMIT | {"rep": rep} | line for rep, line in enumerate(lines, 1)])
    return list(explaining._limits({"limits": table}))


def test_how_much_memory_is_needed() -> None:
    (found,) = limited({})
    assert found.title == "e, new, basic: needs 190 to 200 MB, and shows 800 MB of RSS"
    assert "In one bisection of 5 runs under limits" in found.text
    assert found.strength == 1, "one bisection does not say how much another would differ"
    asked = 272 * 2**20  # whole steps of MiB, as `advice` gives them
    (found,) = limited({"ask_bytes": asked})
    assert found.action == "Ask a scheduler for 272 MiB (285 MB): it completed with less."
    assert "asks a scheduler for 272 MiB (285 MB)" in found.text
    assert [bar.said for bar in found.bars if bar.label == "asked for"] == ["272 MiB"]
    assert limited({"completed_at_bytes": None}) == []


def test_bisections_of_a_cell_are_one_sentence_and_its_strength_is_the_least_that_they_say() -> None:
    (found,) = limited({}, {"completed_at_bytes": 400 * MB, "killed_at_bytes": 390 * MB, "peak_rss_bytes": 1000 * MB})
    assert found.title == "e, new, basic: needs 190 to 400 MB, and shows 800 to 1,000 MB of RSS"
    assert "In 2 bisections of 10 runs" in found.text
    assert found.strength == pytest.approx(2)
    (none,) = limited({"peak_rss_bytes": 150 * MB}, {})
    assert none.strength == 1, "what RSS says is not the same way round in both"


def test_the_strongest_finding_comes_first() -> None:
    slopes = pd.DataFrame([CELL | slope("old", 17_000, 14_000, 20_000)])
    limit = pd.DataFrame([CELL | LIMIT | {"rep": rep} for rep in (1, 2)])
    found = findings({"limits": limit, "growth": slopes.assign(bytes_in_max=1e9)})
    assert [finding.figure for finding in found] == ["growth_by_input", "smallest_limit"]
    assert found[1].strength == pytest.approx(4)
