"""Table `owners`."""

import pandas as pd
import pytest

from beyond_ram.analysis.owners import owners

from .by_hand import MB, torn_down

RECORD = {"cell": {"experiment": "e", "stack": "s", "rep": 1}, "completed_work": True}


def test_shares_and_residue_add_up_to_the_growth() -> None:
    table = owners([(RECORD, torn_down(("tokenizer", 160), ("dataset", 130), start_mb=200))])
    assert table["owner"].tolist() == ["tokenizer", "dataset", "residue"]
    assert table["rung"].tolist() == [1, 2, 3]
    assert (table["anon_released_bytes"] / MB).tolist() == [40, 30, 30]
    assert table["share"].tolist() == pytest.approx([0.4, 0.3, 0.3])
    assert table["anon_grown_bytes"].eq(100 * MB).all()


@pytest.mark.parametrize("start_mb", [100, 104])
def test_no_shares_without_growth(start_mb: int) -> None:
    table = owners([(RECORD, torn_down(("tokenizer", start_mb), start_mb=start_mb))])
    assert table["share"].isna().all()
    assert table["anon_released_bytes"].tolist() == [0, (start_mb - 100) * MB]


def test_failed_run_has_no_line() -> None:
    assert owners([(RECORD | {"completed_work": False}, torn_down(("tokenizer", 160), start_mb=200))]).empty


def test_incomplete_teardown_has_no_line() -> None:
    table = owners([(RECORD, torn_down()), (RECORD, torn_down(("tokenizer", 100))[1:])])
    assert table.empty
    assert {"owner", "share"} <= set(table)
    assert isinstance(table, pd.DataFrame)
