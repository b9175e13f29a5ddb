"""Differences of two locks, and their text in one line."""

from beyond_ram.stacks.differences import differences, packages_in_words, pins, requested

HASH = " \\\n    --hash=sha256:aa"
OLD = f"# a comment\nattrs==1.0{HASH}\nMy_Lib==2.0{HASH}\nold==1{HASH}\ntorch==2.13.0\n"
NEW = f"attrs==1.1{HASH}\nmy-lib==2.1.0rc1 ; python_version < '4'{HASH}\nnew==3{HASH}\ntorch==2.13.0\n"


def test_pins_are_read_without_their_hashes_and_conditions():
    assert pins(OLD) == {"attrs": "1.0", "my-lib": "2.0", "old": "1", "torch": "2.13.0"}
    assert pins(NEW) == {"attrs": "1.1", "my-lib": "2.1.0rc1", "new": "3", "torch": "2.13.0"}


def test_requested_packages_come_first():
    names = requested("# the lib that matters\n--pre\n  My.Lib[extra]>=2  # why\n\nold\n")
    assert names == ["my-lib", "old"]
    assert [difference.package for difference in differences(OLD, NEW, names)] == ["my-lib", "old", "attrs", "new"]


def test_line_names_the_first_packages():
    changes = differences(OLD, NEW)
    assert packages_in_words(changes) == "attrs 1.0 to 1.1, my-lib 2.0 to 2.1.0rc1, new 3 new and 1 more"
    assert packages_in_words(changes, 4) == "attrs 1.0 to 1.1, my-lib 2.0 to 2.1.0rc1, new 3 new, old 1 gone"
    assert not packages_in_words([])
