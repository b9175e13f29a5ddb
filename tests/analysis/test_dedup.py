"""Table `dedup`."""

import pytest

from beyond_ram.analysis.dedup import against, dedup

from .by_hand import edit, pushed


def test_one_line_per_edit_with_its_new_share() -> None:
    table = dedup(pushed(off=[edit("none", 1000), edit("delete", 500)]))
    assert table["edit"].tolist() == ["none", "delete"]
    assert table["new_share"].tolist() == [1.0, 0.5]
    assert dedup([]).empty


def test_only_edits_pushed_both_ways_are_compared() -> None:
    first = edit("none", 1000)
    both = pushed(off=[first, edit("delete", 500)], on=[first, edit("delete", 50), edit("append", 10)])
    ((setting, shares),) = against(dedup(both))
    assert setting["compression"] == "snappy"
    assert "none" not in shares.index
    assert shares.loc["delete"].to_dict() == pytest.approx({"off": 0.5, "on": 0.05})
    assert not list(against(dedup(both[:1])))
