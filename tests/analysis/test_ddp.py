"""Table `ddp`."""

from beyond_ram.analysis.ddp import ddp

from .by_hand import Run


def run(workload: str = "ddp", **account: int) -> Run:
    cell = {"experiment": "e", "stack": "s", "loader": "threads", "workers": 0, "rep": 1}
    counted = {"rows_expected": 10, "rows_delivered": 10, "rows_twice": 0, "rows_missing": 0, "rows_wrong": 0} | account
    epochs = [{"event": "epoch", "pid": pid, **counted, "rows_delivered": 5} for pid in (1, 2)]
    work = {"event": "work", "rows_per_rank": [5, 5], "rows_per_worker_of_rank": [{"0": 5}, {"0": 5}]}
    record = {"cell": cell, "workload": workload, "outcome": "completed", "work": counted, "peak": {}}
    return record, [*epochs, work | {"tree": {"pss_bytes": 70}}]


def test_rows_are_summed_over_ranks() -> None:
    line = ddp([run()]).iloc[0]
    assert (line["rows_expected"], line["rows_delivered"]) == (10, 10), "each epoch event is of one rank"
    assert line["rows_per_rank"] == "[5, 5]"
    assert line["account"] == "every row once"
    assert line["end_pss_bytes"] == 70


def test_account_names_lost_and_repeated_rows() -> None:
    table = ddp([run(rows_delivered=9, rows_missing=2, rows_twice=1), run(workload="load")])
    assert table["account"].tolist() == ["2 missing, 1 twice"]
    assert ddp([]).empty
