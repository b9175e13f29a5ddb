"""What is found in table `loaders`, from lines made by hand."""

import pandas as pd
import pytest

from beyond_ram.analysis.findings import loading
from beyond_ram.analysis.loaders import loaders

from ..by_hand import loader


def test_no_runs_are_no_findings() -> None:
    assert not [finding for source in loading.SOURCES for finding in source({"loaders": loaders([])})]


def line(name: str, rate: float, *, spread: float = 0.01, **cell: object) -> dict[str, object]:
    ends = {"rows_per_cpu_s_low": rate * (1 - spread), "rows_per_cpu_s_high": rate * (1 + spread)}
    return loader(name, rate, 9e6) | ends | cell


def titles(*lines: dict[str, object]) -> list[str]:
    table = pd.DataFrame([{"outcome": "completed"} | line for line in lines])
    return [finding.title for source in loading.SOURCES for finding in source({"loaders": table})]


def test_a_loader_that_loses_rows_is_named() -> None:
    wrong = loader("wrong", 99, 1e6, "3 missing", rows_expected=10, rows_delivered=7, workers=0)
    assert titles(wrong) == ["wrong does not deliver every row once: 3 missing"]


def test_the_fastest_is_held_against_the_libraries_that_were_run() -> None:
    ours, theirs = line("ours", 90), line("theirs", 30, loader_kind="library")
    only = "ours delivers 3.0 times the rows per CPU-second of theirs (shuffled; of libraries the only one run here)"
    assert titles(ours, theirs) == [only]
    slow = line("slow", 10, loader_kind="library")
    assert titles(ours, theirs, slow) == [only.replace("the only one", "largest of 2")]
    assert titles(ours, line("theirs", 30, spread=3, loader_kind="library")) == [], "its interval reaches ours"
    assert titles(loader("ours", 90, 9e6), theirs) == [], "one run has no interval"
    once = loader("once", 29, 9e6, loader_kind="library")
    assert titles(ours, theirs, once) == titles(ours, once, theirs) == [], "nor does one run of a library"
    option = titles(ours | {"option": "ahead-0"}, theirs | {"option": "none"})
    assert option == [only.replace("ours", "ours, ahead-0")]


@pytest.mark.parametrize(("outcome", "findings"), [("timed_out", 1), ("completed", 0), ("not_applicable", 0)])
def test_advice_is_told_where_nothing_completes_without_it(outcome: str, findings: int) -> None:
    advised = loader("threads", 1, 1) | {"advice": "random", "rows_per_s_first_epoch": 100.0, "limit_percent": 25}
    plain = advised | {"experiment": "plain", "advice": "none", "outcome": outcome, "account": "not done"}
    found = titles(advised, plain)
    assert sum("completes with MADV_RANDOM" in title for title in found) == findings
