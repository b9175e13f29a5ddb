"""What is found in table `loaders`, from lines made by hand."""

import pandas as pd
import pytest

from beyond_ram.analysis.findings import loading
from beyond_ram.analysis.loaders import loaders

from ..by_hand import loader


def test_no_runs_are_no_findings() -> None:
    assert not [finding for source in loading.SOURCES for finding in source({"loaders": loaders([])})]


def test_a_loader_that_loses_rows_is_named_and_the_fastest_is_held_against_a_library() -> None:
    lines = [
        loader("ours", 90, 9e6),
        loader("theirs", 30, 9e6, loader_kind="library"),
        loader("wrong", 99, 1e6, "3 missing", rows_expected=10, rows_delivered=7, workers=0),
    ]
    table = pd.DataFrame(lines).assign(outcome="completed")
    found = {finding.title: finding.text for source in loading.SOURCES for finding in source({"loaders": table})}
    assert "7 came; 3 missing" in found.pop("wrong does not deliver every row once: 3 missing")
    ((title, text),) = found.items()
    assert title == "ours delivers 3.0 times the rows per CPU-second of the best library (shuffled)"
    assert "50% of reading without a loader" in text


def test_a_loader_is_named_with_its_option() -> None:
    lines = [loader("ours", 90, 9e6, option="ahead-0"), loader("theirs", 30, 9e6, option="none", loader_kind="library")]
    table = pd.DataFrame(lines).assign(outcome="completed")
    titles = [finding.title for source in loading.SOURCES for finding in source({"loaders": table})]
    assert titles == ["ours, ahead-0 delivers 3.0 times the rows per CPU-second of the best library (shuffled)"]


@pytest.mark.parametrize(("start", "findings"), [("fork", 1), ("spawn", 0)])
def test_what_a_spawned_worker_imports_is_not_the_price_of_sending(start: str, findings: int) -> None:
    table = pd.DataFrame([loader("batched", 1000, 1), loader("batched", 10, 1, workers=4, start=start)])
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
    assert sum("with MADV_RANDOM" in title for title in found) == findings
