"""Table `loaders`."""

import math

import pandas as pd
import pytest

from beyond_ram.analysis.loaders import account, by_way, loaders, whole

from .by_hand import loader


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"rows_missing": 0, "rows_expected": 9}, "every row once"),
        ({"rows_missing": 2, "rows_expected": 9}, "2 missing"),
        ({"rows_expected": 9}, "as many rows as expected"),
        ({"rows_expected": 10}, "9 of 10 rows, not numbered"),
        ({"rows_expected": None}, "rows not numbered"),
    ],
)
def test_account_of_rows_with_and_without_numbers(fields, expected):
    assert account({"rows_delivered": 9, "outcome": "completed", "reason": "", **fields}) == expected


def run(rate, rep=1, workload="load", outcome="completed", *, warm=50.0, startup_cpu_s=2.0, lends=False, **account):
    """A run of a first and two warm epochs, each with a hundred rows at some rate per CPU-second."""
    cell = {"experiment": "e", "stack": "s", "loader": "threads", "order": "sequential", "workers": 2, "rep": rep}
    rows = {"rows_expected": 100, "rows_delivered": 100, "rows_twice": 0, "rows_missing": 0, "rows_wrong": 0} | account
    delivered = rows["rows_delivered"]
    first = {"cpu_s": delivered / rate + (startup_cpu_s or 0), "duration_s": 20.5, "first_batch_s": 0.5 * rep}
    first["startup_cpu_s"] = startup_cpu_s
    later = {"cpu_s": delivered / warm, "duration_s": 2 * delivered / warm, "first_batch_s": 0.1}
    record = {"cell": cell, "workload": workload, "outcome": outcome, "completed_work": outcome == "completed"}
    record |= {"work": rows, "peak": {}, "memory_limit_bytes": 9e6}
    work = {"event": "work", "rows_per_worker": {"0": 5, "1": 5}, "loader_kind": "ours", "shuffle": "rows"}
    sizes = {"pss_bytes": 100 * rep, "pss_anon_bytes": 90, "pss_shmem_bytes": 3}
    work |= {"stored_bytes": 50, "bytes_in": 100, "tree": sizes, "lends": lends}
    at_first = {"pss_bytes": 60, "pss_anon_bytes": 50, "pss_shmem_bytes": 0}
    return record, [
        {"event": "phase", "phase": "after the first batch", "tree": at_first},
        {"event": "epoch", "epoch": 0, "pid": 1, **rows, **first},
        *({"event": "epoch", "epoch": number, "pid": 1, **rows, **later} for number in (1, 2)),
        *([work | rows | later] if outcome == "completed" else []),
    ]


def line_of(*runs):
    (line,) = loaders(runs).to_dict("records")
    return line


def test_repeats_are_one_line_with_mean_rates_and_the_worst_account():
    line = line_of(run(40.0, 2, rows_missing=30, rows_delivered=70), run(25.0))
    assert line["n"] == 2
    assert line["rows_per_cpu_s"] == pytest.approx((25 * 40) ** 0.5), "without the start of workers"
    assert line["rows_per_cpu_s_warm"] == pytest.approx(50)
    assert line["rows_per_cpu_s_low"] < line["rows_per_cpu_s"] < line["rows_per_cpu_s_high"]
    assert line["startup_cpu_s"] == 2.0
    assert (line["end_pss_bytes"], line["held_bytes"]) == (150, 93), "medians, without the page cache"
    assert (line["copied_bytes"], line["disk_ratio"]) == (40, 0.5)
    assert (line["rows_missing"], line["account"]) == (30, "30 missing")
    assert line["rows_per_worker"] == "[5, 5]"


def test_a_short_epoch_has_no_rate():
    line = line_of(run(5000.0, warm=5000.0))
    assert math.isnan(line["rows_per_cpu_s"])
    assert math.isnan(line["rows_per_cpu_s_warm"])
    assert line_of(run(25.0, warm=900.0))["rows_per_cpu_s_warm"] == pytest.approx(900), (
        "warm epochs together are long enough"
    )


def test_first_epoch_has_no_rate_if_the_worker_start_is_unknown():
    line = line_of(run(25.0, startup_cpu_s=None))
    assert math.isnan(line["rows_per_cpu_s"])


def test_held_memory_is_the_larger_of_two_readings():
    record, events = run(25.0)
    assert line_of((record, events))["held_bytes"] == 93
    at_first = {"pss_bytes": 600, "pss_anon_bytes": 500, "pss_shmem_bytes": 7}
    assert line_of((record, [events[0] | {"tree": at_first}, *events[1:]]))["held_bytes"] == 507
    kept = {"pss_bytes": 600, "pss_anon_bytes": 500, "shmem_bytes": 21}
    summed = line_of((record, [events[0] | {"tree": kept}, *events[1:]]))
    assert summed["held_bytes"] is None, "a sum over processes counts pages twice"


def test_batches_lent_in_one_repeat_count_as_lent():
    assert line_of(run(25.0, lends=True), run(25.0, 2))["lends"] == "yes"
    assert line_of(run(25.0), run(25.0, 2, lends=None))["lends"] == "no"
    assert line_of(run(25.0, lends=None))["lends"] is None


def test_run_that_reads_nothing_from_storage_counts():
    repeats = [
        (record | {"storage": {"read_bytes": read_bytes}}, [*events, {"event": "delivered", "bytes_in": 100}])
        for (record, events), read_bytes in zip((run(25.0), run(25.0, 2)), (0, 100), strict=True)
    ]
    assert line_of(*repeats)["read_per_byte"] == 0.5


def test_unfinished_repeat_sets_the_outcome_and_no_number():
    line = line_of(run(25.0), run(9.0, 2, outcome="killed_at_limit"), run(9.0, 3, outcome="killed_at_limit"))
    assert (line["outcome"], line["n"]) == ("killed_at_limit", 1)
    assert line["reason"] == "killed at its limit of 9 MB"
    assert line["account"] == "every row once in 1 of 3 runs; killed at its limit of 9 MB (2 of 3 runs)"
    assert line["rows_per_cpu_s"] == pytest.approx(25)
    assert line_of(run(25.0, outcome="timed_out"))["account"] == "not done in time"
    both = line_of(run(25.0, outcome="timed_out"), run(25.0, 2, outcome="timed_out"))
    assert (both["account"], both["n"]) == ("not done in time (2 of 2 runs)", 0)


def test_way_of_loading_is_a_loader_with_its_settings():
    axes = ("advice", "readahead", "torch_threads")
    settings = [("none", "default", 0), ("none", "no-batch", 0), ("random", "default", 0), ("none", "default", 1)]
    table = pd.DataFrame([loader("scan", 9, 9) | dict(zip(axes, values, strict=True)) for values in settings])
    assert list(whole(table)["loader"]) == [
        "scan",
        "scan, readahead no-batch",
        "scan, madvise random",
        "scan, 1 PyTorch thread",
    ]
    assert len(whole(table.assign(limit_percent=25))) == 0
    assert list(by_way(table.drop(columns=list(axes)))["loader"]) == ["scan"] * 4


def test_other_workloads_have_no_line():
    assert loaders([run(25.0, workload="write")]).empty
    assert "account" in loaders([])
