"""Changes between two locks."""

import pytest

from beyond_ram.atlas import compare, tables


def cell(library, version, outcome="completed", end_anon_bytes=None):
    return {"library": library, "case": "reads", "title": "", "version": version, "date": "2026-01-01",
            "outcome": outcome, "runs": 2, "end_anon_bytes": end_anon_bytes}  # fmt: skip


def step(library, first, second, ratio, case="reads"):
    return {"library": library, "case": case, "metric": "end_anon_bytes", "from_version": first, "to_version": second,
            "from_date": "2026-01-01", "to_date": "2026-02-01", "from_value": 100e6, "to_value": 100e6 * ratio,
            "ratio": ratio, "low": ratio * 0.9, "high": ratio * 1.1, "n": 3, "moved": ""}  # fmt: skip


def write_tables(folder):
    cells = [cell("one", version) for version in ("1.0", "1.1", "1.2", "1.10")]
    cells += [cell("two", version) for version in ("3.0", "3.1")]
    steps = [
        step("one", "1.0", "1.1", 1.5),
        step("one", "1.2", "1.10", 0.25),
        step("two", "3.0", "3.1", 2.0),
        step("two", "3.0", "3.1", 1.5, "sorts"),
    ]
    steps[1]["moved"] = "a 1 to 2, b none to 3"  # fmt: skip
    cases = [("one", "reads"), ("two", "reads"), ("two", "sorts")]
    tables.replace_lines(folder / tables.CELLS, cells, tables.CELL_COLUMNS, cases)
    tables.replace_lines(folder / tables.STEPS, steps, tables.STEP_COLUMNS, cases)
    return folder


@pytest.fixture
def folder(tmp_path):
    return write_tables(tmp_path)


def changes(folder, old, new):
    cells, steps = (tables.read(folder / name) for name in (tables.CELLS, tables.STEPS))
    return compare.changes(old, new, cells, steps)


def steps_of(change):
    steps = [one for own in change.cases.values() for one in own]
    return [(one["from_version"], one["to_version"], change.is_inside(one)) for one in steps]


def test_changes_are_confirmed_steps_with_the_largest_first(folder):
    one, two = changes(folder, {"one": "1.0", "two": "3.0"}, {"one": "1.10", "two": "3.1"})
    assert (one.library, two.library) == ("one", "two")
    assert [*one.cases] == ["reads"] and not one.unchanged
    assert steps_of(one) == [("1.0", "1.1", True), ("1.2", "1.10", True)] and steps_of(two) == [("3.0", "3.1", True)]


@pytest.mark.parametrize(
    ("old", "new", "steps", "not_run", "unchanged"),
    [
        ("1.1", "1.2", [], [], ["reads"]),  # a step ends at one lock, another begins at the other
        ("0.9", "1.5", [("1.0", "1.1", True), ("1.2", "1.10", False)], ["0.9 and 1.0"], []),
        ("1.10", "2.0", [], ["1.10 and 2.0"], []),
        ("0.1", "0.9", [], ["0.1 and 1.0"], []),
    ],
)
def test_steps_and_parts_of_a_range_that_did_not_run(folder, old, new, steps, not_run, unchanged):
    (one,) = changes(folder, {"one": old}, {"one": new})
    assert (steps_of(one), one.not_run, one.unchanged) == (steps, not_run, unchanged)


def test_cases_without_a_step_are_listed_if_several_of_their_releases_ran(folder):
    cells = tables.read(folder / tables.CELLS)
    cells += [cell("one", version) | {"case": "writes"} for version in ("1.1", "1.2")]
    cells += [cell("one", "1.2") | {"case": "sorts"}]
    cells += [cell("one", version, "failed: ImportError") | {"case": "fails"} for version in ("1.1", "1.2")]
    (one,) = compare.changes({"one": "1.0"}, {"one": "1.10"}, cells, tables.read(folder / tables.STEPS))
    assert one.unchanged == ["writes"]


def test_downgrade_has_the_steps_in_the_order_of_releases_and_equal_versions_none(folder):
    (folder / "mine.txt").write_text("one==1.10\ntwo==3.1\n")
    (folder / "theirs.txt").write_text("one==1.0\ntwo==3.1\n")
    compared = compare.compare(str(folder / "mine.txt"), str(folder / "theirs.txt"), folder)
    (one,) = compared.changes
    assert steps_of(one) == [("1.0", "1.1", True), ("1.2", "1.10", True)]


def test_newest_is_the_newest_measured_release(folder):
    mine, theirs = str(folder / "mine.txt"), str(folder / "theirs.txt")
    (folder / "mine.txt").write_text("one==1.0 \\\n    --hash=sha256:00\nOther==7\ntwo==3.1\nmine==1\n")
    (folder / "theirs.txt").write_text("one==1.1\nother==8\ntheirs==1\ntwo==3.1\n")
    newest = compare.compare(mine, "newest", folder)
    assert [(change.library, change.before, change.after) for change in newest.changes] == [("one", "1.0", "1.10")]
    assert not newest.others
    compared = compare.compare(mine, theirs, folder)
    assert compared.others == ["other 7 → 8"]


def test_lines_of_other_cases_stay_and_of_removed_cases_go(folder):
    path = folder / tables.STEPS
    cases = [("one", "reads"), ("two", "sorts")]
    tables.replace_lines(path, [step("one", "1.1", "1.2", 3.0)], tables.STEP_COLUMNS, cases)
    assert [(line["library"], line["case"], line["to_version"]) for line in tables.read(path)] == [
        ("one", "reads", "1.2"), ("two", "sorts", "3.1"),
    ]  # fmt: skip
