"""A small part of the simulation, with fixed seeds: error rates and powers that docs/method.md promises."""

import csv
from pathlib import Path

import pytest

from beyond_ram.measure.simulate import cases, rates

CASES = {f"{case.kind}: {case.name}": case for case in cases()}
NULLS = ["Gauss 5 %", "two levels, p = 0.5", "period of 4 runs", "carries state", "fails by chance, p = 0.5"]


@pytest.mark.parametrize("name", NULLS)
def test_equal_sides_are_rarely_worse(name):
    line = rates(CASES[f"none: {name}"], 24)
    assert line["worse"] <= 0.05
    assert line["either"] <= 0.1


@pytest.mark.parametrize(("name", "found", "runs"), [
    ("+3%, constant", 1.0, 4), ("+20%, Gauss 5 %", 0.99, 6), ("+10%, Gauss 5 %", 0.99, 10),
    ("failures alone, 0 to 50%", 0.85, 30), ("three times in 50% of runs", 0.85, 20),
])  # fmt: skip
def test_changes_are_found(name, found, runs):
    line = rates(CASES[f"change: {name}"], 40)
    assert line["worse"] >= found
    assert line["runs"] <= runs


@pytest.mark.parametrize(
    "case", [case for case in CASES.values() if case.kind == "same"][:5:2], ids=lambda one: one.name
)
def test_same_is_rarely_wrong_within_what_it_says(case):
    assert rates(case, 24)["same"] <= 0.11


def test_published_rates_are_within_what_is_promised():
    table = Path(__file__).parents[2] / "docs" / "measured" / "decisions" / "errors.csv"
    lines = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    assert [f"{line['kind']}: {line['case']}" for line in lines] == list(CASES)
    nulls = [line for line in lines if line["kind"] == "none"]
    assert max(float(line["worse"]) for line in nulls) <= 0.025 + 3 * 0.0035
    assert max(float(line["either"]) for line in nulls) <= 0.05 + 3 * 0.0049
    assert max(float(line["same"]) for line in lines if line["kind"] == "same") <= 0.05 + 3 * 0.0049
