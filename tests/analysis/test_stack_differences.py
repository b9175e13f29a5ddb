"""Other differences between compared stacks, as a table and in words."""

import pytest

from beyond_ram.analysis.stack_differences import COLUMNS, between, stack_differences
from beyond_ram.records import tables
from beyond_ram.stacks.differences import packages_in_words

LOCKS = {
    "old": "aa==1\ndatasets==3.6.0\nzz==1\n",
    "new": "aa==2\ndatasets==4.0.0\nbb==1\n",
    "new-before": "aa==2\ndatasets==3.9.0\nbb==1\n",
    "new.in": "--pre\ndatasets>=4  # what it is for\n",
}
PAIRS = [("old", "new"), ("new-before", "new"), ("gone", "new"), ("new", "new")]


@pytest.fixture
def table(tmp_path):
    """The table, written and read again."""
    tables.write(stack_differences(PAIRS, LOCKS), tmp_path / "stack_differences.csv", tmp_path / "t.parquet")
    return tables.read(tmp_path / "t.parquet")


def test_one_line_per_package_with_different_versions(table):
    assert list(table) == COLUMNS
    assert [tuple(line) for line in table.astype(object).where(table.notna(), None).to_numpy()] == [
        ("old", "new", "datasets", "3.6.0", "4.0.0", True),
        ("old", "new", "aa", "1", "2", False),
        ("old", "new", "bb", None, "1", False),
        ("old", "new", "zz", "1", None, False),
        ("new-before", "new", "datasets", "3.9.0", "4.0.0", True),
    ]


def test_requested_packages_are_named_first(table):
    assert packages_in_words(between(table, "old", "new")) == "datasets 3.6.0 to 4.0.0, aa 1 to 2, bb 1 new and 1 more"
    assert packages_in_words(between(table, "new-before", "new")) == "datasets 3.9.0 to 4.0.0"
    assert between(table, "new", "new") == between(None, "old", "new") == []
