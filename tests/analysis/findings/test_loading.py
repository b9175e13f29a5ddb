"""Findings from table `loaders`, from hand-made lines."""

import math

import pandas as pd

from beyond_ram.analysis.findings import Finding, loading
from beyond_ram.analysis.loaders import loaders

from ..by_hand import loader


def test_no_runs_are_no_findings() -> None:
    assert not [finding for source in loading.SOURCES for finding in source({"loaders": loaders([])})]


def findings_of(*lines: dict[str, object]) -> list[Finding]:
    table = pd.DataFrame(lines)
    return [finding for source in loading.SOURCES for finding in source({"loaders": table})]


def test_a_loader_that_loses_rows_is_named() -> None:
    wrong = loader("wrong", 99, 1e6, "3 missing", rows_expected=10, rows_delivered=7, workers=0)
    (finding,) = findings_of(wrong)
    assert (finding.kind, finding.subject, finding.facts["account"]) == ("rows", "wrong", "3 missing")
    assert findings_of(wrong | {"account": "not done in time", "n": 0, "rows_delivered": math.nan}) == []
    assert findings_of(wrong | {"account": "every row once", "rows_delivered": 10}) == []
