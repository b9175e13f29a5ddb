"""What became of runs, counted beside every line of every table."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from beyond_ram import making
from beyond_ram.analysis.decide import side
from beyond_ram.analysis.outcomes import COUNTS, counted, of_how_many, outcome, tally
from beyond_ram.collected import Runs, collect

from ..experiment.test_records import CELL, weighed
from ..metrics.test_registry import KEPT


def runs(*outcomes: str) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "outcome": outcomes,
            "completed_work": [outcome == "completed" for outcome in outcomes],
            "reason": ["disk full" if outcome == "failed" else "" for outcome in outcomes],
            "rep": range(1, len(outcomes) + 1),
            "rows_per_s": [10.0 + i for i in range(len(outcomes))],
        }
    )


def test_a_repeat_that_failed_is_counted_and_told_and_not_averaged() -> None:
    outcome_counts = tally(runs("completed", "failed", "failed", "killed_at_limit"))
    assert outcome_counts == {
        "asked": 4,
        "finished": 1,
        "failed": 3,
        "why": "failed: disk full (2 of 4); killed at limit (1 of 4)",
    }
    assert tally(runs("completed", "completed"))["why"] == ""
    assert tally(runs("completed", "interrupted_on_purpose"))["failed"] == 0
    assert tally(runs("not_applicable"))["failed"] == 0
    assert side(runs("completed", "failed", "completed"), "rows_per_s").values == (10, 12)


def test_a_run_that_finished_its_work_and_then_broke_is_counted_and_named() -> None:
    broken = runs("completed", "failed").assign(completed_work=True)
    outcome_counts = tally(broken)
    assert (outcome_counts["finished"], outcome_counts["failed"], outcome_counts["why"]) == (
        2,
        0,
        "failed after its work: disk full (1 of 2)",
    )
    assert len(side(broken, "rows_per_s").values) == outcome_counts["finished"]


@pytest.mark.parametrize(
    ("of_repeats", "expected"),
    [
        (["completed", "completed"], "completed"),
        (["completed", "failed"], "failed"),
        (["completed", "not_applicable"], "completed"),
        (["not_applicable"], "not_applicable"),
        (["failed", "timed_out", "timed_out", "completed"], "timed_out"),
    ],
)
def test_a_cell_is_completed_only_where_all_that_could_be_run_is(of_repeats: list[str], expected: str) -> None:
    assert outcome(pd.Series(of_repeats)) == expected


def test_of_how_many_is_said_where_not_all_finished() -> None:
    assert of_how_many(3, 3) == ""
    assert of_how_many(1, 3) == " in 1 of 3 runs"


def asked(**cells: str) -> pd.DataFrame:
    """Two repeats of each of two stacks, with what became of them."""
    return pd.DataFrame(
        [
            {"experiment": "e", "stack": stack, "num_files": size, "rep": rep, "reason": ""}
            | {"outcome": came_to, "completed_work": came_to == "completed"}
            for stack, size in (("old", 1), ("new", 1), ("new", 2))
            for rep, came_to in enumerate(cells.get(f"{stack}{size}", "completed completed").split(), 1)
        ]
    )


def counts(table: pd.DataFrame, runs: pd.DataFrame) -> list[tuple[Any, ...]]:
    return list(counted(table, runs)[list(COUNTS)].itertuples(index=False, name=None))


def test_a_line_counts_the_runs_of_its_cell_whatever_it_leaves_out() -> None:
    runs = asked(new2="failed no_record", old1="completed timed_out")
    cells = pd.DataFrame([{"experiment": "e", "stack": "new", "num_files": 2.0}, {"experiment": "e", "stack": "old"}])
    assert counts(cells, runs) == [
        (2, 0, 2, "failed (1 of 2); no record (1 of 2)"),
        (2, 1, 1, "timed out (1 of 2)"),
    ]
    pooled = pd.DataFrame([{"experiment": "e", "stack": "new", "slope": 1.0}])
    assert counts(pooled, runs)[0][:3] == (4, 2, 2)
    one_run = pd.DataFrame([{"experiment": "e", "stack": "old", "num_files": 1, "rep": 1}])
    assert counts(one_run, runs)[0][:3] == (2, 1, 1), "beside one run stands what became of the others"
    assert counts(cells.assign(stack="other"), runs)[0] == (0, 0, 0, "")


def test_of_two_runs_one_fails_and_the_cell_is_not_completed() -> None:
    line = pd.DataFrame([{"experiment": "e", "stack": "old", "num_files": 1, "outcome": "completed"}])
    assert counted(line, asked(old1="completed failed"))["outcome"].tolist() == ["failed"]
    assert counted(line, asked())["outcome"].tolist() == ["completed"]
    assert counted(line.assign(rep=1), asked(old1="completed failed"))["outcome"].tolist() == ["completed"], "a run's"


def test_lines_that_are_no_cells_are_left_alone_and_so_are_those_that_count_themselves() -> None:
    releases = pd.DataFrame({"version": ["1", "2"]})
    assert counted(releases, asked()) is releases
    both_sides = pd.DataFrame([{"experiment": "e", "stack": "new", **dict.fromkeys(COUNTS, 9)}])
    assert counted(both_sides, asked()) is both_sides
    not_run = counted(pd.DataFrame([{"experiment": None, "claim": "c"}]), asked())
    assert not_run[list(COUNTS)].to_numpy().tolist() == [[0, 0, 0, ""]]
    assert set(COUNTS) <= set(counted(pd.DataFrame(columns=["experiment", "stack"]), asked()))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_no_line_is_of_more_runs_than_finished(path: Path) -> None:
    table = pd.read_csv(path)
    if "experiment" not in table:
        pytest.skip("its lines are about no runs")
    assert set(COUNTS) <= set(table)
    assert (table["finished"] + table["failed"] <= table["asked"]).all()
    if "n" in table:
        assert (table["n"] <= table["finished"]).all()


@pytest.mark.slow
def test_any_table_has_the_counts_and_a_run_without_a_record_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weighed(tmp_path)
    absent = type(CELL)(CELL.experiment, CELL.axes, 2)
    paths = [tmp_path / cell.path / "run.json" for cell in (CELL, absent)]
    tomorrow = type("m", (), {"tomorrow": staticmethod(lambda: pd.DataFrame([CELL.parameters() | {"new": 1.0}]))})
    monkeypatch.setattr(making.importlib, "import_module", lambda _: tomorrow)
    collect(paths, tmp_path / "runs.parquet", tmp_path / "samples.parquet")
    runs = Runs([tmp_path / "runs.parquet"])
    (line,) = making.table("tomorrow", {}, runs).to_dict("records")
    assert (line["asked"], line["finished"], line["failed"], line["why"]) == (2, 1, 1, "no record (1 of 2)")
    assert list(runs.outcomes()["outcome"]) == ["completed", "no_record"]
    assert [record["cell"]["rep"] for record, _ in runs] == [1]
