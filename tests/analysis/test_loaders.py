"""Table `loaders`."""

import pandas as pd
import pytest

from beyond_ram.analysis.loaders import account, by_way, loaders, whole

from .by_hand import Run, loader


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


def run(rate: float, rep: int = 1, workload: str = "load", outcome: str = "completed", **account: int) -> Run:
    """A run that delivers ten rows at some rate per CPU-second, where reading without a loader has 100."""
    cell = {"experiment": "e", "stack": "s", "loader": "threads", "order": "sequential", "workers": 2, "rep": rep}
    rows = {"rows_expected": 10, "rows_delivered": 10, "rows_twice": 0, "rows_missing": 0, "rows_wrong": 0} | account
    times = {"cpu_s": 10 / rate, "duration_s": 20 / rate, "first_batch_s": 0.5 * rep}
    record = {
        "cell": cell,
        "workload": workload,
        "outcome": outcome,
        "completed_work": outcome == "completed",
        "work": rows,
        "peak": {},
        "memory_limit_bytes": 9e6,
    }
    work = {"event": "work", "rows_per_worker": {"0": 5, "1": 5}, "loader_kind": "best", "shuffle": "rows"}
    work |= {"stored_bytes": 50, "bytes_in": 100, "tree": {"pss_bytes": 100 * rep, "pss_anon_bytes": 90}}
    return record, [
        {"event": "phase", "phase": "after the first batch", "tree": {"pss_bytes": 60, "pss_anon_bytes": 50}},
        {"event": "epoch", "pid": 1, **rows, **times},
        {"event": "read_ceiling", "kind": "sequential", "rows": 10, "cpu_s": 0.1},
        *([work | rows | times] if outcome == "completed" else []),
    ]


def test_repeats_are_one_line_with_the_geometric_mean_of_rates_and_the_worst_account() -> None:
    (line,) = loaders([run(25.0), run(100.0, 2, rows_missing=3, rows_delivered=7)]).to_dict("records")
    assert line["n"] == 2
    assert line["rows_per_cpu_s"] == pytest.approx((25 * 70) ** 0.5), "7 rows in a tenth of a second"
    assert line["share_of_limit"] == pytest.approx((0.25 * 0.7) ** 0.5)
    assert line["rows_per_cpu_s_low"] < line["rows_per_cpu_s"] < line["rows_per_cpu_s_high"]
    assert (line["epoch_first_batch_s"], line["end_pss_bytes"]) == (0.75, 150), "medians"
    assert (line["copied_bytes"], line["disk_ratio"]) == (40, 0.5)
    assert (line["rows_missing"], line["account"]) == (3, "3 missing")
    assert line["rows_per_worker"] == "[5, 5]"


def test_one_repeat_that_did_not_finish_stands_for_its_cell() -> None:
    (line,) = loaders([run(25.0), run(25.0, 2, outcome="killed_at_limit")]).to_dict("records")
    assert (line["outcome"], line["n"]) == ("killed_at_limit", 1)
    assert line["reason"] == "killed at its limit of 9 MB"
    assert line["account"] == "every row once in 1 of 2 runs"
    (alone,) = loaders([run(25.0, outcome="timed_out")]).to_dict("records")
    assert alone["account"] == "not done in time"


def test_a_way_of_loading_is_a_loader_with_its_option_and_advice() -> None:
    told = [("none", "none"), ("none", "ahead-0"), ("random", "none")]
    table = pd.DataFrame([loader("scan", 9, 9) | {"advice": advice, "option": option} for advice, option in told])
    assert list(whole(table)["loader"]) == ["scan", "scan, ahead-0", "scan, madvise random"]
    assert len(whole(table.assign(limit_percent=25))) == 0
    assert list(by_way(table.drop(columns=["advice", "option"]))["loader"]) == ["scan"] * 3


def test_other_workloads_have_no_line() -> None:
    assert loaders([run(25.0, workload="write")]).empty
    assert "account" in loaders([])
