"""Sections of the report, from lines of tables."""

import pandas as pd
import pytest

from beyond_ram.analysis.changes import changes
from beyond_ram.analysis.comparisons import comparisons
from beyond_ram.analysis.stack_differences import stack_differences
from beyond_ram.report import sections
from beyond_ram.report.cells import named

from ..analysis.findings.test_compared import runs


def test_holders_or_a_reason_are_listed_by_cell():
    shared = {"experiment": "e", "stack": "s", "rep": 1, "also_held_by": "", "share": 0.5}
    shared |= {"cause": "held", "owner": "rows"}
    table = pd.DataFrame([
        shared | {"script": "a", "holder": "rows", "kind": "name", "type": "list of 9", "released_bytes": 9e6,
                 "also_held_by": "f.rows", "not_run": ""},
        shared | {"script": "a", "holder": "stayed", "kind": "stayed", "type": "", "released_bytes": 1e6,
                 "not_run": ""},
        shared | {"script": "b", "holder": "", "kind": "", "cause": None, "owner": None, "not_run": "it ended early"},
    ])  # fmt: skip
    first, second = sections.holders(table)
    line, rest = first["lines"]
    assert (line["holder"], line["kind"], line["released"], line["share"]) == ("rows", "name: list of 9", "9.0", "50 %")
    assert "f.rows" in line["notes"] and not rest["kind"] and not rest["notes"]
    assert first["cause"] == "held: rows"
    assert second["not_run"] == "it ended early" and not second["lines"]
    assert "a" in first["title"]


def test_name_shared_by_experiment_and_stack_appears_once():
    assert named("loaders", "loaders", "no workers", "") == ["loaders", "no workers"]


def test_packages_are_those_that_runs_imported():
    table = pd.DataFrame([{"stack": "s", "lock_sha256": "1", "version_python": "3.11", "version_datasets": None}])
    assert sections.packages(table.assign(version_polars="1.0")) == ["python", "polars"]
    (stack,) = sections.stacks(table.assign(version_polars="1.0"))
    assert stack["versions"] == {"python": "3.11", "polars": "1.0"}


def test_no_template_prints_two_values_side_by_side(root):
    """Templates cut blanks at the ends of values: `a` and ` reader` would be one word."""
    templates = [*root.glob("beyond_ram/report/templates/*.jinja")]
    assert len(templates) > 4
    assert not [path.name for path in templates if "}}{{" in path.read_text()]


OLD_LOCK, NEW_LOCK = "tokenizers==0.23.3\ndatasets==4.0.0\nxx==1\n", "tokenizers==0.22.2\ndatasets==4.0.0\nxx==2\n"


@pytest.mark.parametrize(
    ("sizes_mb", "results"),
    [([300.0, 302, 301], {"worse"}), ([30.0, 30.2, 30.1], {"better"}), ([100.0, 101, 100.5], set())],
)
def test_bump_is_named_by_what_was_asked_for_with_what_changed(sizes_mb, results):
    pairs = [("mine-before", "mine"), ("other", "mine")]
    table = pd.DataFrame([*runs(pairs[0][0], [100, 101, 100.5]), *runs("mine", sizes_mb)])
    locks = {pairs[0][0]: OLD_LOCK, "mine": NEW_LOCK, "other": "xx==9\n", "mine.in": "tokenizers\n"}
    changed = changes(comparisons(table, pairs))
    (bump,) = sections.bumps(changed, stack_differences(pairs, locks))
    assert bump["title"] == "tokenizers 0.23.3 to 0.22.2"
    assert bump["others"] == ["xx 1 to 2"]
    assert {line["result"] for line in bump["lines"]} == results
    assert bump["same"] + bump["undecided"] + len(bump["lines"]) == len(changed)
    assert not list(sections.bumps(changed, stack_differences(pairs[1:], locks)))
    assert not list(sections.bumps(None, None))
