"""Table `copy_on_write`: one line per epoch, growth since the first batch, and the worst account of the repeats."""

from typing import Any

import pandas as pd
import pytest

from beyond_ram.analysis.copy_on_write import COLUMNS, copy_on_write
from beyond_ram.metrics import column

from .by_hand import Run

CELL = {"experiment": "e", "stack": "s", "holding": "dicts", "records": 9, "order": "shuffled", "workers": 2}
CELL |= {"start": "fork", "epochs": 2}


def reading(phase: str, mb: int) -> dict[str, Any]:
    tree = {"pss_bytes": mb * 10**6, "pss_anon_bytes": (mb - 1) * 10**6}
    return {"event": "phase", "phase": phase, "tree": tree}


def run(rep: int, first: int, ends: tuple[int, ...], missing: int = 0, outcome: str = "completed") -> Run:
    events = [{"event": "start"}]
    for number, mb in enumerate(ends):
        events += [{"event": "phase", "phase": f"epoch {number}"}]
        events += [reading("after the first batch", first)] * (not number)
        account = {"rows_expected": 9, "rows_delivered": 9 - missing, "rows_missing": missing, "rows_twice": 0}
        events += [{"event": "epoch", "pid": 1, "epoch": number, "rows_wrong": 0, **account}]
        events += [reading("delivered", mb)]
    record = {"workload": "copy-on-write", "cell": CELL | {"rep": rep}, "outcome": outcome, "work": {}, "peak": {}}
    record["completed_work"] = outcome == "completed"
    return record, events


def test_one_line_per_epoch_with_copies_since_the_first_batch() -> None:
    table = copy_on_write([run(1, 100, (150, 160)), run(2, 110, (170, 190), missing=1), run(3, 100, (155, 170))])
    assert list(table["epoch"]) == [0, 1]
    assert list(table["end_pss_bytes"]) == [155e6, 170e6]
    assert list(table["end_pss_bytes_max"]) == [170e6, 190e6]
    assert list(table["copied_bytes"]) == [55e6, 70e6]
    assert list(table["copied_bytes_min"]) == [50e6, 60e6]
    assert set(table["n"]) == {3}
    assert set(table["account"]) == {"1 missing"}
    measured = [name for name in table if name not in (*CELL, "n", "outcome", "reason", "account")]
    assert not [name for name in measured if not column("copy_on_write", name)]


def test_cell_without_epochs_has_a_reason_and_other_workloads_no_line() -> None:
    killed = run(1, 0, (), outcome="timed_out")
    (line,) = copy_on_write([killed, (killed[0] | {"workload": "load"}, [])]).to_dict("records")
    assert (line["outcome"], line["account"]) == ("timed_out", "timed_out")
    assert pd.isna(line["epoch"])
    assert list(copy_on_write([])) == COLUMNS


def test_failed_repeat_is_in_no_median_but_in_the_account() -> None:
    table = copy_on_write([run(1, 100, (150, 160)), run(2, 100, (990,), outcome="failed")])
    assert list(table["end_pss_bytes_max"]) == [150e6, 160e6]
    assert set(table["n"]) == {1}
    assert set(table["outcome"]) == {"failed"}
    assert set(table["account"]) == {"every row once in 1 of 2 runs"}


@pytest.mark.parametrize("ends", [(150,), (150, 160, 170)])
def test_one_line_per_finished_epoch(ends: tuple[int, ...]) -> None:
    assert len(copy_on_write([run(1, 100, ends)])) == len(ends)
