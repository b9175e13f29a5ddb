"""What lies between two locks."""

import pytest

from beyond_ram.atlas import between, tables


def cell(library, version, outcome="completed", end_anon_bytes=None):
    return {"library": library, "case": "reads", "title": "", "version": version, "date": "2026-01-01",
            "outcome": outcome, "runs": 2, "end_anon_bytes": end_anon_bytes}  # fmt: skip


def step(library, first, second, ratio, state="confirmed", case="reads"):
    return {"library": library, "case": case, "metric": "end_anon_bytes", "from_version": first, "to_version": second,
            "from_date": "2026-01-01", "to_date": "2026-02-01", "from_value": 100e6, "to_value": 100e6 * ratio,
            "ratio": ratio, "low": ratio * 0.9, "high": ratio * 1.1, "n": 3, "state": state, "false": False,
    }  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    cells = [cell("one", version) for version in ("1.0", "1.1", "1.2", "1.10")]
    cells += [cell("two", version) for version in ("3.0", "3.1")]
    steps = [step("one", "1.0", "1.1", 1.5), step("one", "1.2", "1.10", 0.25), step("two", "3.0", "3.1", 2.0),
             step("two", "3.0", "3.1", 9.0, "not confirmed", "writes")]  # fmt: skip
    cases = [("one", "reads"), ("two", "reads"), ("two", "writes")]
    tables.replace_lines(tmp_path / tables.CELLS, cells, tables.CELL_COLUMNS, cases)
    tables.replace_lines(tmp_path / tables.STEPS, steps, tables.STEP_COLUMNS, cases)
    return tmp_path


def changes(folder, old, new):
    cells, steps = (tables.read(folder / name) for name in (tables.CELLS, tables.STEPS))
    return between.changes(old, new, cells, steps)


def inside(change):
    return [(one["from_version"], one["to_version"]) for one in change.steps]


def test_confirmed_steps_between_two_versions_largest_first(folder):
    one, two = changes(folder, {"one": "1.0", "two": "3.0"}, {"one": "1.10", "two": "3.1"})
    assert (one.library, two.library) == ("one", "two")
    assert inside(one) == [("1.2", "1.10"), ("1.0", "1.1")] and inside(two) == [("3.0", "3.1")]


def test_steps_that_were_not_run_again_are_listed_if_their_interval_excludes_1(folder):
    steps = tables.read(folder / tables.STEPS)
    likely, wide, false = (step("one", "1.0", "1.1", 1.5, "not repeated", name) for name in ("reads", "wide", "false"))
    steps += [likely, wide | {"low": 0.7, "high": 3.2}, false | {"false": True}]
    (one,) = between.changes({"one": "1.0"}, {"one": "1.10"}, tables.read(folder / tables.CELLS), steps)
    assert one.likely == [likely]


def test_a_step_that_is_taken_back_is_shown_with_both_ends(folder):
    sizes = {"1.0": 100e6, "1.1": 150e6, "1.2": 150e6, "1.10": 37e6}
    lines = [cell("one", version, end_anon_bytes=size) for version, size in sizes.items()]
    tables.replace_lines(folder / tables.CELLS, lines, tables.CELL_COLUMNS, [("one", "reads")])
    (one,) = changes(folder, {"one": "1.0"}, {"one": "1.11"})
    old, new = one.whole_way(one.steps[0])
    assert (old["version"], new["version"]) == ("1.0", "1.10")
    assert (float(old["end_anon_bytes"]), float(new["end_anon_bytes"])) == (100e6, 37e6)
    (earlier,) = changes(folder, {"one": "0.9"}, {"one": "1.10"})
    assert earlier.whole_way(earlier.steps[0])[0]["version"] == "1.0", "the oldest that has run"


def test_a_version_inside_of_a_step_and_ends_that_were_not_run(folder):
    (one,) = changes(folder, {"one": "0.9"}, {"one": "1.5"})
    assert inside(one) == [("1.0", "1.1")]
    assert [one["to_version"] for one in one.perhaps] == ["1.10"]
    assert one.uncovered == "before 1.0" and not one.is_back


@pytest.mark.parametrize(
    ("old", "new", "covered"),
    [("1.10", "2.0", None), ("0.1", "0.9", None), ("1.1", "2.0", ("1.1", "1.10")), ("1.5", "0.9", ("1.0", "1.2"))],
)
def test_what_ran_of_the_range_of_two_locks(folder, old, new, covered):
    (one,) = changes(folder, {"one": old}, {"one": new})
    assert one.covered == covered


def test_an_older_version_and_equal_ones(folder):
    (one,) = changes(folder, {"one": "1.10", "two": "3.1"}, {"one": "1.2", "two": "3.1"})
    assert one.is_back and inside(one) == [("1.2", "1.10")]


def test_locks_are_read_and_newest_is_what_was_run(folder):
    (folder / "mine.txt").write_text("one==1.0 \\\n    --hash=sha256:00\nOther==7\n")
    text = "\n".join(between.lines(str(folder / "mine.txt"), "newest", folder))
    assert "one 1.0 → 1.10" in text and "two" not in text.split("\n\n")[1]


@pytest.mark.parametrize(("name", "content", "message"), [("no.txt", None, "no file"), ("a.txt", "hello", "no lock")])
def test_what_is_no_lock_is_refused(folder, name, content, message):
    if content:
        (folder / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        list(between.lines(str(folder / name), "newest", folder))


def test_lines_of_other_cases_stay_and_those_of_gone_cases_leave(folder):
    path = folder / tables.STEPS
    tables.replace_lines(
        path, [step("one", "1.1", "1.2", 3.0)], tables.STEP_COLUMNS, [("one", "reads"), ("two", "writes")]
    )
    assert [(one["library"], one["case"], one["to_version"]) for one in tables.read(path)] == [
        ("one", "reads", "1.2"), ("two", "writes", "3.1"),
    ]  # fmt: skip
