"""Table `owners`."""

import pandas as pd
import pytest

from beyond_ram.analysis.owners import owners

from .by_hand import MB, torn_down

RECORD = {"cell": {"experiment": "e", "stack": "s", "rep": 1}, "completed_work": True}


def test_shares_are_of_the_growth_and_add_up_with_the_residue() -> None:
    table = owners([(RECORD, torn_down(("tokenizer", 160), ("dataset", 130), start_mb=200))])
    assert table["owner"].tolist() == ["tokenizer", "dataset", "residue"]
    assert table["rung"].tolist() == [1, 2, 3]
    assert (table["anon_released_bytes"] / MB).tolist() == [40, 30, 30]
    assert table["share"].tolist() == pytest.approx([0.4, 0.3, 0.3])
    assert table["anon_grown_bytes"].eq(100 * MB).all()


@pytest.mark.parametrize("start_mb", [100, 104])
def test_where_next_to_nothing_had_grown_there_is_no_share(start_mb: int) -> None:
    table = owners([(RECORD, torn_down(("tokenizer", start_mb), start_mb=start_mb))])
    assert table["share"].isna().all()
    assert table["anon_released_bytes"].tolist() == [0, (start_mb - 100) * MB]


def test_a_run_that_failed_has_no_line() -> None:
    assert owners([(RECORD | {"completed_work": False}, torn_down(("tokenizer", 160), start_mb=200))]).empty


def test_a_teardown_that_is_not_whole_has_no_line() -> None:
    table = owners([(RECORD, torn_down()), (RECORD, torn_down(("tokenizer", 100))[1:])])
    assert table.empty
    assert {"owner", "share"} <= set(table)
    assert isinstance(table, pd.DataFrame)
