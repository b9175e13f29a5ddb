"""Outcomes of runs, counted in every line of every table."""

import pandas as pd
import pytest

from beyond_ram.analysis.decide import side
from beyond_ram.analysis.outcomes import COUNTS, counted, outcome, tally
from beyond_ram.records.collected import Runs, collect
from beyond_ram.workflow import make_output

from ..records.test_cell_runs import CELL, run_once


def runs(*outcomes):
    return pd.DataFrame(
        {
            "outcome": outcomes,
            "completed_work": [outcome == "completed" for outcome in outcomes],
            "reason": ["disk full" if outcome == "failed" else "" for outcome in outcomes],
            "rep": range(1, len(outcomes) + 1),
            "rows_per_s": [10.0 + i for i in range(len(outcomes))],
        }
    )


def test_failed_repeat_is_counted_and_not_averaged():
    outcome_counts = tally(runs("completed", "failed", "failed", "killed_at_limit"))
    assert [outcome_counts[name] for name in ("runs", "finished", "failed")] == [4, 1, 3]
    assert outcome_counts["not_completed"] == "failed: disk full (2 of 4); killed at limit (1 of 4)"
    assert tally(runs("completed", "completed"))["not_completed"] == ""
    assert tally(runs("completed", "interrupted_on_purpose"))["failed"] == 0
    assert tally(runs("not_applicable"))["failed"] == 0
    assert side(runs("completed", "failed", "completed"), "rows_per_s").values == (10, 12)


def test_run_that_fails_after_its_work_counts_as_finished():
    broken = runs("completed", "failed").assign(completed_work=True)
    outcome_counts = tally(broken)
    assert [outcome_counts[name] for name in ("finished", "failed")] == [2, 0]
    assert outcome_counts["not_completed"] == "failed after its work: disk full (1 of 2)"
    assert len(side(broken, "rows_per_s").values) == 2


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        (["completed", "completed"], "completed"),
        (["completed", "failed"], "failed"),
        (["completed", "not_applicable"], "completed"),
        (["not_applicable"], "not_applicable"),
        (["failed", "timed_out", "timed_out", "completed"], "timed_out"),
    ],
)
def test_cell_is_completed_only_if_all_possible_runs_are(outcomes, expected):
    assert outcome(pd.Series(outcomes)) == expected


def requested(**cells):
    """Two repeats of each cell of two stacks, with their outcomes."""
    return pd.DataFrame(
        [
            {"experiment": "e", "stack": stack, "num_files": size, "rep": rep, "reason": ""}
            | {"outcome": run_outcome, "completed_work": run_outcome == "completed"}
            for stack, size in (("old", 1), ("new", 1), ("new", 2))
            for rep, run_outcome in enumerate(cells.get(f"{stack}{size}", "completed completed").split(), 1)
        ]
    )


def counts(table, runs):
    return list(counted(table, runs)[list(COUNTS)].itertuples(index=False, name=None))


def test_line_counts_the_runs_that_match_its_axes():
    runs = requested(new2="failed no_record", old1="completed timed_out")
    cells = pd.DataFrame([{"experiment": "e", "stack": "new", "num_files": 2.0}, {"experiment": "e", "stack": "old"}])
    assert counts(cells, runs) == [(2, 0, 2, "failed (1 of 2); no record (1 of 2)"), (2, 1, 1, "timed out (1 of 2)")]
    pooled = pd.DataFrame([{"experiment": "e", "stack": "new", "slope": 1.0}])
    assert counts(pooled, runs)[0][:3] == (4, 2, 2)
    one_run = pd.DataFrame([{"experiment": "e", "stack": "old", "num_files": 1, "rep": 1}])
    assert counts(one_run, runs)[0][:3] == (2, 1, 1), "the line of one run counts all repeats"
    assert counts(cells.assign(stack="other"), runs)[0] == (0, 0, 0, "")


def test_cell_with_a_failed_repeat_is_not_completed():
    line = pd.DataFrame([{"experiment": "e", "stack": "old", "num_files": 1, "outcome": "completed"}])
    assert counted(line, requested(old1="completed failed"))["outcome"].tolist() == ["failed"]
    assert counted(line, requested())["outcome"].tolist() == ["completed"]
    assert counted(line.assign(rep=1), requested(old1="completed failed"))["outcome"].tolist() == ["completed"], (
        "the line of one run"
    )


def test_lines_without_a_cell_or_with_own_counts_stay_as_they_are():
    releases = pd.DataFrame({"version": ["1", "2"]})
    assert counted(releases, requested()) is releases
    both_sides = pd.DataFrame([{"experiment": "e", "stack": "new", **dict.fromkeys(COUNTS, 9)}])
    assert counted(both_sides, requested()) is both_sides
    not_run = counted(pd.DataFrame([{"experiment": None, "reason": "c"}]), requested())
    assert not_run[list(COUNTS)].to_numpy().tolist() == [[0, 0, 0, ""]]
    assert set(COUNTS) <= set(counted(pd.DataFrame(columns=["experiment", "stack"]), requested()))


@pytest.mark.slow
def test_new_table_counts_runs_without_a_record(tmp_path, monkeypatch):
    run_once(tmp_path)
    absent = type(CELL)(CELL.experiment, CELL.axes, 2)
    paths = [tmp_path / cell.path / "run.json" for cell in (CELL, absent)]
    tomorrow = type("m", (), {"tomorrow": staticmethod(lambda: pd.DataFrame([CELL.parameters() | {"new": 1.0}]))})
    monkeypatch.setattr(make_output.importlib, "import_module", lambda _: tomorrow)
    collect(paths, tmp_path / "runs.parquet", tmp_path / "samples.parquet")
    runs = Runs([tmp_path / "runs.parquet"])
    (line,) = make_output.table("tomorrow", {}, runs).to_dict("records")
    assert (line["runs"], line["finished"], line["failed"], line["not_completed"]) == (2, 1, 1, "no record (1 of 2)")
    assert list(runs.outcomes()["outcome"]) == ["completed", "no_record"]
    assert [record["cell"]["rep"] for record, _ in runs] == [1]
