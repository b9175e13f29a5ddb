"""What is found in table `loaders`, from lines made by hand."""

import pandas as pd
import pytest

from beyond_ram.analysis.choices import choices
from beyond_ram.analysis.findings import loading
from beyond_ram.analysis.loaders import loaders
from beyond_ram.analysis.ranks import ranks
from beyond_ram.analysis.writers import writers

from ..by_hand import loader


def test_no_runs_are_no_lines_and_no_findings() -> None:
    assert [len(table([])) for table in (loaders, writers, ranks)] == [0, 0, 0]
    assert not len(choices(loaders([])))
    assert not [finding for source in loading.SOURCES for finding in source({"loaders": loaders([])})]


@pytest.mark.parametrize(("start", "findings"), [("fork", 1), ("spawn", 0)])
def test_what_a_spawned_worker_imports_is_not_the_price_of_sending(start: str, findings: int) -> None:
    table = pd.DataFrame([loader("batched", 1000, 1), loader("batched", 10, 1) | {"workers": 4, "start": start}])
    found = [
        finding.title
        for source in loading.SOURCES
        for finding in source({"loaders": table.assign(outcome="completed")})
    ]
    assert sum("a row costs 100.0 times the CPU" in title for title in found) == findings


@pytest.mark.parametrize(
    ("outcome", "rate", "findings"), [("timed_out", float("nan"), 1), ("completed", 20.0, 1), ("completed", 99.0, 0)]
)
def test_reading_ahead_is_blamed_only_where_going_without_is_faster(outcome: str, rate: float, findings: int) -> None:
    advised = loader("threads", 1, 1) | {"advice": "random", "rows_per_s_first_epoch": 100.0, "outcome": "completed"}
    plain = advised | {
        "experiment": "plain",
        "advice": "none",
        "rows_per_s_first_epoch": rate,
        "outcome": outcome,
        "account": "not done",
    }
    table = pd.DataFrame([advised, plain]).assign(limit_percent=25)
    found = [finding.title for source in loading.SOURCES for finding in source({"loaders": table})]
    assert sum("need MADV_RANDOM" in title for title in found) == findings
