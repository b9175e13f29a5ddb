"""`beyond-ram compare`: two stacks of a results folder, or two folders, of runs that were really made."""

import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest

from beyond_ram import tables
from beyond_ram.analysis.comparisons import comparisons
from beyond_ram.analysis.runs import runs as runs_of
from beyond_ram.cli import main
from beyond_ram.experiment import Cell
from beyond_ram.watch import watch, write_record


def weighed(results: Path, stack: str, rep: int, *, work: bool = True, files: int = 2, **provenance: object) -> None:
    """A run of a real command that finished its work, or did not."""
    cell = Cell("growth", (("stack", stack), ("mode", "basic"), ("num_files", files)), rep)
    folder = results / "runs" / cell.path
    record = watch([sys.executable, "-S", "-c", f"import sys; sys.exit({int(not work)})"], folder)
    record |= {"cell": cell.parameters(), "workload": "tokenize", "completed_work": work, "work": {"tokens": 99}}
    record["provenance"] |= provenance
    write_record(record, folder)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for rep in (1, 2):
        for stack in ("old", "new", "broken"):
            weighed(folder, stack, rep, work=stack != "broken")
    return folder


@pytest.fixture
def results(runs: Path, tmp_path: Path) -> Path:
    """A results folder of the test's own."""
    return Path(shutil.copytree(runs, tmp_path / "results"))


def compare(*words: object) -> int:
    return main(["compare", *map(str, words)])


@pytest.mark.slow
def test_nothing_that_differs_is_no_failure(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("old", "new", "--results", results) == 0
    table = pd.read_csv(results / "changes" / "changes.csv")
    assert dict(zip(table["metric"], table["verdict"], strict=True)) == {"run_failed": "same", "token_count": "same"}
    assert "2 same" in capsys.readouterr().out
    page = (results / "changes" / "changes.html").read_text()
    assert "old and new" in page
    assert "http" not in page
    assert "old and new: no known package differs." in page


@pytest.mark.slow
def test_the_decisions_of_a_report_are_taken_unless_runs_came_since(results: Path) -> None:
    assert compare("old", "new", "--results", results) == 0
    runs_table = runs_of(tables.read_runs(sorted((results / "runs").rglob("run.json"))))
    of_report = comparisons(runs_table, [("old", "new")], [])
    of_report.loc[of_report["metric"] == "run_failed", "result"] = "worse"
    (results / "tables").mkdir()
    tables.write(of_report, *(results / "tables" / f"comparisons.{ending}" for ending in ("csv", "parquet")))
    assert compare("old", "new", "--results", results) == 1
    assert set(pd.read_csv(results / "changes" / "changes.csv")["family"]) == {"exploratory"}
    weighed(results, "new", 3)
    assert compare("old", "new", "--results", results) == 0


@pytest.mark.slow
def test_a_candidate_that_fails_is_worse(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare("old", "broken", "--results", results) == 1
    output = capsys.readouterr().out
    assert output.startswith("worse: Failed runs, growth")
    assert compare("broken", "old", "--results", results) == 0, "the other way round it is better"


@pytest.mark.slow
def test_two_folders_with_the_same_stack(results: Path, tmp_path: Path) -> None:
    for rep in (1, 2):
        weighed(tmp_path / "later", "old", rep, work=False)
    assert compare(results, tmp_path / "later") == 1
    table = pd.read_csv(tmp_path / "later" / "changes" / "changes.csv")
    assert set(table["before"]) == {f"old in {results}"}


@pytest.mark.slow
def test_what_one_side_lacks_is_told(results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run whose job fails leaves nothing: such a candidate must not look as good as one that ran everything."""
    for rep in (1, 2):
        weighed(results, "old", rep, files=3)
    weighed(results, "new", 3)
    compare("old", "new", "--results", results)
    output = capsys.readouterr().out
    assert "not compared: 1 cell that only old has\n" in output
    assert "not compared: 1 repeat that only new has\n" in output
    later = Path(shutil.copytree(results, tmp_path / "later"))
    shutil.rmtree(later / "runs/growth/stack~new")
    capsys.readouterr()
    compare(results, later)
    output = capsys.readouterr().out
    assert f"not compared: stack new, which only {results} has\n" in output
    assert "cell that only" not in output


@pytest.mark.slow
def test_what_else_differs_is_said_on_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of two stacks their locks; where these are not known the versions that the runs read themselves."""
    for rep in (1, 2):
        weighed(tmp_path / "one", "june-2023", rep)
        weighed(tmp_path / "one", "current", rep)
        weighed(tmp_path / "one", "gone", rep, versions={"datasets": "1.0", "hf-xet": "1.1"})
        weighed(tmp_path / "two", "gone", rep, versions={"datasets": "2.0", "hf-xet": "1.1"})
    assert compare("june-2023", "current", "--results", tmp_path / "one") == 0
    page = (tmp_path / "one" / "changes" / "changes.html").read_text()
    assert "june-2023 and current: " in page
    assert "tokenizers 0.13.3 to " in page
    assert compare(tmp_path / "one", tmp_path / "two") == 0
    page = (tmp_path / "two" / "changes" / "changes.html").read_text()
    assert "gone: 1 package: datasets 1.0 to 2.0." in page
    assert "packages that differ between" in capsys.readouterr().out


@pytest.mark.slow
def test_results_of_another_machine_are_refused_unless_asked(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for rep in (1, 2):
        weighed(tmp_path / "later", "old", rep, cpu_count=512)
    assert compare(results, tmp_path / "later") == 2
    assert "other machines: cpu_count" in capsys.readouterr().err
    assert not (tmp_path / "later" / "changes").exists()
    assert compare(results, tmp_path / "later", "--other-machines") == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("old", "none"), "no run of stack 'none' (there are: broken, new, old)"),
        (("old", "new", "--results", "nowhere"), "nowhere: no results folder"),
    ],
)
def test_what_is_not_there_is_one_line(
    results: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], message: str
) -> None:
    given = words if "--results" in words else (*words, "--results", results)
    assert compare(*given) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


@pytest.mark.slow
def test_cells_that_one_side_alone_has_are_not_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weighed(tmp_path, "old", 1)
    weighed(tmp_path, "new", 1, files=3)
    assert compare("old", "new", "--results", tmp_path) == 2
    assert "no cell was run both by old and by new" in capsys.readouterr().err
