"""What is found in table `loaders`, from lines made by hand."""

import math

import pandas as pd
import pytest

from beyond_ram.analysis.findings import loading
from beyond_ram.analysis.loaders import loaders

from ..by_hand import loader


def test_no_runs_are_no_findings() -> None:
    assert not [finding for source in loading.SOURCES for finding in source({"loaders": loaders([])})]


def titles(*lines: dict[str, object]) -> list[str]:
    table = pd.DataFrame(lines)
    return [finding.title for source in loading.SOURCES for finding in source({"loaders": table})]


def test_a_loader_that_loses_rows_is_named() -> None:
    wrong = loader("wrong", 99, 1e6, "3 missing", rows_expected=10, rows_delivered=7, workers=0)
    assert titles(wrong) == ["wrong does not deliver every row once: 3 missing"]
    assert titles(wrong | {"account": "not done in time", "n": 0, "rows_delivered": math.nan}) == []
    assert titles(wrong | {"account": "every row once", "rows_delivered": 10}) == []


def beside(name: str, share: float, said: object, **more: object) -> dict[str, object]:
    ends = {"share_of_limit": share, "share_of_limit_low": 0.9 * share, "share_of_limit_high": 1.1 * share}
    return loader(name, 9, 9) | ends | {"against_ceiling": said, "ceiling_way": "memmap_take", "n": 3} | more


def test_the_nearest_to_reading_without_a_loader_is_named_as_selected() -> None:
    near, far = beside("near", 0.8, "below"), beside("far", 0.3, "below", workers=4)
    said = "near, 0 workers, is slower than the fastest way tried to read without a loader: 80% of it (shuffled; "
    assert titles(near, far) == [f"{said}largest of 2 run here)"]
    assert titles(near) == [f"{said}no other was run here)"]
    (above,) = titles(beside("quick", 1.3, "above"), near)
    assert above.startswith("quick, 0 workers, is faster than")
    (reached,) = titles(beside("quick", 1.0, "reached"))
    assert "is as fast as" in reached


@pytest.mark.parametrize("said", ["not enough data", None])
def test_nothing_is_said_of_a_share_that_cannot_be_decided(said: object) -> None:
    assert titles(beside("one", 1.9, said, n=1), beside("other", 0.2, "below")) == []


def test_a_share_that_is_not_shown_to_differ_is_said_to_be_so() -> None:
    (wild,) = titles(beside("wild", 1.9, "not shown"), beside("other", 0.2, "below"))
    assert wild.startswith(
        "wild, 0 workers, is not shown to differ from the fastest way tried to read without a loader"
    )


ADVISED = loader("threads", 1, 1) | {"advice": "random", "limit_percent": 25, "n": 3, "asked": 3}
PLAIN = ADVISED | {"advice": "none", "outcome": "timed_out", "account": "not done in time", "n": 0}


@pytest.mark.parametrize(
    ("advised", "plain", "findings"),
    [
        ({}, {}, 1),
        ({}, {"outcome": "completed", "n": 3}, 0),
        ({}, {"outcome": "not_applicable"}, 0),
        ({"n": 2}, {}, 0),
        ({}, {"n": 1}, 0),
        ({"outcome": "timed_out", "n": 0}, {"outcome": "completed", "n": 3}, 0),
        ({"n": 1, "asked": 1}, {"asked": 1}, 0),
    ],
    ids=["shown", "absent", "not applicable", "one fails", "one completes", "reversed", "one run"],
)
def test_advice_is_told_where_every_run_completes_with_it_and_none_without(
    advised: dict[str, object], plain: dict[str, object], findings: int
) -> None:
    found = titles(ADVISED | advised, PLAIN | {"experiment": "plain"} | plain)
    assert sum("completes with MADV_RANDOM" in title for title in found) == findings


def ranked(account: str, delivered: int, rep: int = 1, outcome: str = "completed") -> dict[str, object]:
    cell = {
        "experiment": "ranks",
        "stack": "loaders",
        "tokens": "few",
        "loader": "a",
        "order": "sequential",
        "ranks": 2,
    }
    counts = {"rows_expected": 2003, "rows_delivered": delivered, "account": account}
    return cell | counts | {"rep": rep, "outcome": outcome}


def test_a_row_that_two_ranks_had_is_told_with_how_many_runs() -> None:
    lines = [ranked("1 twice", 2004), ranked("every row once", 2003, 2), ranked("9 missing", 1994, 3, "failed")]
    (found,) = loading._rows_of_ranks({"ranks": pd.DataFrame(lines)})
    assert found.title == "a, 2 ranks: not every row once: 1 twice"
    assert "2,004 came to all ranks together: 1 twice, so in 1 of 2 runs that finished" in found.text
    assert "For 2 ranks to have the same number of rows, 1 of these 2,003 had to come again." in found.text
    (more,) = loading._rows_of_ranks({"ranks": pd.DataFrame([ranked("3 twice", 2006)])})
    assert "had to come again" not in more.text
    assert not list(loading._rows_of_ranks({"ranks": pd.DataFrame([ranked("every row once", 2003)])}))
