"""The account of rows, which all workloads use."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

WORKLOADS = Path(__file__).resolve().parents[2] / "scripts/workloads"


@pytest.fixture(autouse=True)
def _beside_the_workloads(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(WORKLOADS), *sys.path])


def account(*words, **what):
    from account import Account

    return Account(*words, **what)


def test_row_that_comes_three_times_counts_as_one():
    tally = account(5)
    tally.add(2, 1, [0, 1])
    tally.add(2, 0, [1, 1])
    assert tally.totals() == {
        "rows_delivered": 4, "rows_per_worker": {0: 2, 1: 2}, "rows_expected": 5, "rows_twice": 1, "rows_missing": 3,
        "rows_wrong": 0,
    }  # fmt: skip


def test_unknown_rows_are_wrong_and_others_of_the_batch_are_not():
    tally = account(3)
    tally.add(5, 0, [0, 1, 2, 3, -1], wrong=0)
    assert (tally.totals()["rows_wrong"], tally.totals()["rows_missing"]) == (2, 0)


def test_fault_of_one_epoch_counts_for_the_run():
    from account import of_run

    epochs = []
    for numbers in ([0, 0], [0, 1]):
        tally = account(2)
        tally.add(2, 0, numbers)
        epochs.append(tally.totals())
    assert of_run(epochs) == {
        "rows_delivered": 2, "rows_per_worker": {0: 2}, "rows_expected": 2, "rows_twice": 1, "rows_missing": 1,
        "rows_wrong": 0,
    }  # fmt: skip


def test_unknown_counts_are_left_out():
    uncounted, unnumbered = account(None, checked=False), account(4, numbered=False, checked=False)
    uncounted.add(3, 0, [7, 10**12, 7])
    unnumbered.add(3, 0)
    assert uncounted.totals() == {"rows_delivered": 3, "rows_per_worker": {0: 3}}
    assert unnumbered.totals() == {"rows_delivered": 3, "rows_per_worker": {0: 3}, "rows_expected": 4}


def test_torn_rows_and_wrong_labels_are_counted():
    from load import TokenRows
    from rows import sums_of

    ids = np.arange(4 * 8, dtype=np.int32).reshape(4, 8)
    ids[:, 0], ids[:, 1] = 0, range(4)  # a row's first two ids are its number
    rows = SimpleNamespace(count=4, width=8, own=False, sums=lambda: sums_of(ids), labels_of=lambda numbers: numbers)
    token_rows = TokenRows(rows)
    torn, strange = ids[2:3].copy(), ids[3:].copy()
    torn[0, 7] += 1
    strange[0, 1] = 99
    token_rows.take(ids[:2], np.array([0, 1]), 0)
    token_rows.take(np.concatenate([torn, strange, ids[3:]]), np.array([2, 99, 0]), 1)
    assert token_rows.totals() | {"rows_per_worker": 0} == {
        "rows_identified_by": "ids", "labels_checked": True,
        "rows_delivered": 5, "rows_per_worker": 0, "rows_expected": 4, "rows_twice": 0, "rows_missing": 2,
        "rows_wrong": 3,
    }  # fmt: skip
