"""Findings about single cells, from hand-made lines."""

import math

import pandas as pd
import pytest

from beyond_ram.analysis.findings import findings
from beyond_ram.analysis.loaders import loaders

from ..by_hand import MB, loader

REPEATED = {"experiment": "e", "stack": "new", "regrowth": "grows", "epoch_input_bytes": 9 * MB, "slope_bytes": MB}
REPEATED |= {"subject": "x", "n": 3, "epochs_read": 6, "first_epoch_bytes": 10 * MB}
REPEATED |= {"slope_bytes_low": 0.9 * MB, "slope_bytes_high": 1.1 * MB}


def findings_of(table, name="loaders"):
    return findings({name: table})


def test_no_runs_are_no_findings():
    assert findings_of(loaders([])) == []
    assert findings_of(pd.DataFrame(), "regrowth") == []


def test_a_loader_that_loses_rows_is_named():
    wrong = loader("wrong", 99, 1e6, "3 missing", rows_expected=10, rows_delivered=7, workers=0)
    (finding,) = findings_of(pd.DataFrame([wrong]))
    assert (finding.kind, finding.subject, finding.facts["account"]) == ("rows", "wrong", "3 missing")
    assert (
        findings_of(pd.DataFrame([wrong | {"account": "not done in time", "n": 0, "rows_delivered": math.nan}])) == []
    )
    assert findings_of(pd.DataFrame([wrong | {"account": "every row once", "rows_delivered": 10}])) == []


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
def test_growth_with_every_epoch_is_a_finding(changed, number):
    findings = findings_of(pd.DataFrame([REPEATED | changed]), "regrowth")
    assert [(finding.subject, finding.scope.conditions) for finding in findings] == [("new", ("x",))] * number
    assert all(finding.strength == pytest.approx(1.54) for finding in findings), "at least 5.4 MB on top of 10"
