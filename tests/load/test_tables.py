"""Tables of loading from made-up lines, and from none."""

import pandas as pd
import pytest

from beyond_ram.analysis import compare
from beyond_ram.analysis.choices import choices
from beyond_ram.analysis.findings import loading
from beyond_ram.analysis.loaders import account, loaders
from beyond_ram.analysis.ranks import ranks
from beyond_ram.analysis.writers import writers


def test_no_runs_are_no_lines_and_no_findings() -> None:
    assert [len(table([])) for table in (loaders, writers, ranks)] == [0, 0, 0]
    assert not len(choices(loaders([])))
    assert not [finding for source in loading.SOURCES for finding in source({"loaders": loaders([])})]


def line(loader: str, rate: float, pss: float, account: str = "every row once") -> dict[str, object]:
    cell = {"experiment": "e", "stack": "s", "tokens": "t", "loader": loader, "order": "shuffled", "workers": 0}
    cell |= {"start": "none", "page_cache": "warm", "limit_percent": 0, "loader_kind": "best", "shuffle": "rows"}
    return cell | {"rows_per_cpu_s": rate, "share_of_limit": 0.5, "end_pss_bytes": pss, "account": account, "n": 1}


def test_only_who_is_beaten_by_nobody_is_a_choice() -> None:
    sound = [line("fast", 9, 900), line("lean", 1, 100), line("between", 5, 500), line("beaten", 4, 600)]
    table = pd.DataFrame([*sound, line("wrong", 99, 1, "3 missing")])
    found = choices(table).set_index("loader")["why"].to_dict()
    assert found == {
        "fast": "most rows per CPU-second",
        "between": "no other is both faster and leaner",
        "lean": "least memory",
    }


def test_a_loader_that_nothing_was_held_against_is_no_choice() -> None:
    alone = line("alone", 9, 900) | {"workers": 4}
    assert not len(choices(pd.DataFrame([alone])))
    # Neither a loader that lost rows nor the same one in another stack is another to choose.
    rivals = [alone | {"loader": "wrong", "account": "3 missing"}, alone | {"stack": "other", "rows_per_cpu_s": 1}]
    assert not len(choices(pd.DataFrame([alone, *rivals])))
    pair = [line("fast", 9, 900), line("lean", 1, 100)]
    assert set(choices(pd.DataFrame([alone, *rivals, *pair]))["loader"]) == {"fast", "lean"}


def test_the_interval_of_a_mean_is_students_on_logarithms() -> None:
    found = compare.mean([1.0, 2.0, 4.0])
    assert found.mean == pytest.approx(2)
    assert found.low * found.high == pytest.approx(4)
    assert found.low == pytest.approx(0.357, abs=0.001)  # exp(ln 2 - 4.3027 * ln 2 / sqrt 3)
    with pytest.raises(ValueError, match="above 0"):
        compare.mean([1.0, 0.0])


@pytest.mark.parametrize(("start", "findings"), [("fork", 1), ("spawn", 0)])
def test_what_a_spawned_worker_imports_is_not_the_price_of_sending(start: str, findings: int) -> None:
    table = pd.DataFrame([line("batched", 1000, 1), line("batched", 10, 1) | {"workers": 4, "start": start}])
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
    advised = line("threads", 1, 1) | {"advice": "random", "rows_per_s_first_epoch": 100.0, "outcome": "completed"}
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


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"rows_missing": 0, "rows_expected": 9}, "every row once"),
        ({"rows_missing": 2, "rows_expected": 9}, "2 missing"),
        ({"rows_expected": 9}, "as many rows as expected"),
        ({"rows_expected": 10}, "9 of 10 rows, not numbered"),
        ({"rows_expected": None}, "rows not numbered"),
    ],
)
def test_rows_without_numbers_are_not_said_to_have_come_once(known: dict[str, object], said: str) -> None:
    assert account({"rows_delivered": 9, "outcome": "completed", "reason": "", **known}) == said
