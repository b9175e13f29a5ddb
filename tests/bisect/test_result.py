"""The text of a search's result."""

from beyond_ram.bisect.result import moved


def test_moved_package_gets_one_line_for_all_releases():
    locks = ["", "core 2.41 to 2.9, types 4 to 3", "core 2.41 to 2.10", "core 2.41 to 2.33"]
    assert moved(locks) == [
        "had to move: core 2.41 to 2.9, …, 2.33, with 3 of 4 releases",
        "had to move: types 4 to 3, with 1 of 4 releases",
    ]
    assert moved(["", ""]) == []
