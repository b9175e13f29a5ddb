"""Table `loaders`."""

import pytest

from beyond_ram.analysis.loaders import account


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
