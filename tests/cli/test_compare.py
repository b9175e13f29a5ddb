"""`beyond-ram compare`: two stacks of a results folder, or two folders, with real runs."""

import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest

from beyond_ram.analysis.comparisons import comparisons
from beyond_ram.analysis.runs import runs as runs_of
from beyond_ram.cli import main
from beyond_ram.experiment import Cell
from beyond_ram.records import tables
from beyond_ram.report.changes import ComparedSides
from beyond_ram.watch import watch, write_record


def write_run(results, stack, rep, *, work=True, files=2, **provenance):
    """Write a run of a real command, which did its work if `work` is true."""
    cell = Cell("growth", (("stack", stack), ("mode", "basic"), ("num_files", files)), rep)
    folder = results / "runs" / cell.path
    record = watch([sys.executable, "-S", "-c", f"import sys; sys.exit({int(not work)})"], folder)
    record |= {"cell": cell.parameters(), "workload": "tokenize", "completed_work": work, "work": {"tokens": 99}}
    record["provenance"] |= provenance
    write_record(record, folder)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for rep in (1, 2):
        for stack in ("old", "new", "broken"):
            write_run(folder, stack, rep, work=stack != "broken")
    return folder


@pytest.fixture
def results(runs, tmp_path):
    """Copy the runs into a results folder for one test."""
    return Path(shutil.copytree(runs, tmp_path / "results"))


def compare(*words):
    return main(["compare", *map(str, words)])


@pytest.mark.parametrize(("results", "status"), [
    ({"token_count": "same", "duration_s": "undecided"}, 0), ({"token_count": "same", "held_bytes": "undecided"}, 2),
    ({"token_count": "worse", "held_bytes": "undecided"}, 1), ({"held_bytes": "better"}, 0),
])  # fmt: skip
def test_status_is_2_where_anything_but_a_clock_is_undecided(results, status):
    table = pd.DataFrame({"metric": [*results], "result": [*results.values()]})
    assert ComparedSides(table, {}, [], Path()).status == status


@pytest.mark.slow
def test_memory_that_was_not_seen_is_undecided(results, capsys):
    assert compare("old", "new", "--results", results) == 2
    table = pd.read_csv(results / "changes" / "changes.csv")
    result_of = dict(zip(table["metric"], table["result"], strict=True))
    unseen = dict.fromkeys(["grown_anon_bytes", "peak_grown_anon_bytes"], "undecided")  # these runs have no readings
    assert result_of == {"run_failed": "same", "token_count": "same"} | unseen
    assert "2 same" in capsys.readouterr().out
    page = (results / "changes" / "changes.html").read_text()
    assert "old and new" in page
    assert "http" not in page
    assert "old and new: no known package differs." in page


@pytest.mark.slow
def test_decisions_of_a_report_hold_until_there_are_new_runs(results):
    assert compare("old", "new", "--results", results) == 2
    runs_table = runs_of(tables.read_runs(sorted((results / "runs").rglob("run.json"))))
    of_report = comparisons(runs_table, [("old", "new")], [])
    of_report.loc[of_report["metric"] == "run_failed", "result"] = "worse"
    (results / "tables").mkdir()
    tables.write(of_report, *(results / "tables" / f"comparisons.{ending}" for ending in ("csv", "parquet")))
    assert compare("old", "new", "--results", results) == 1
    assert set(pd.read_csv(results / "changes" / "changes.csv")["family"]) == {"exploratory"}
    write_run(results, "new", 3)
    assert compare("old", "new", "--results", results) == 2


@pytest.mark.slow
def test_a_candidate_that_fails_is_worse(results, capsys):
    assert compare("old", "broken", "--results", results) == 1
    output = capsys.readouterr().out
    assert output.startswith("worse: Failed runs, growth")
    assert compare("broken", "old", "--results", results) == 2, "better, but no memory was seen"


@pytest.mark.slow
def test_two_folders_are_compared_and_results_of_another_machine_need_an_option(results, tmp_path, capsys):
    for rep in (1, 2):
        write_run(tmp_path / "later", "old", rep, work=False, cpu_count=512)
    assert compare(results, tmp_path / "later") == 2
    assert "other machines: cpu_count" in capsys.readouterr().err
    assert not (tmp_path / "later" / "changes").exists()
    assert compare(results, tmp_path / "later", "--other-machines") == 1
    table = pd.read_csv(tmp_path / "later" / "changes" / "changes.csv")
    assert set(table["before"]) == {f"old in {results}"}


@pytest.mark.slow
def test_runs_of_only_one_side_are_listed(results, tmp_path, capsys):
    """A failed job leaves no run. Such a candidate must not look as good as one that ran everything."""
    for rep in (1, 2):
        write_run(results, "old", rep, files=3)
    write_run(results, "new", 3)
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
def test_package_differences_are_on_the_page(tmp_path, capsys):
    """Differences come from the locks of two stacks, or from the versions in the runs if a lock is unknown."""
    for rep in (1, 2):
        write_run(tmp_path / "one", "june-2023", rep)
        write_run(tmp_path / "one", "current", rep)
        write_run(tmp_path / "one", "gone", rep, versions={"datasets": "1.0", "hf-xet": "1.1"})
        write_run(tmp_path / "two", "gone", rep, versions={"datasets": "2.0", "hf-xet": "1.1"})
    assert compare("june-2023", "current", "--results", tmp_path / "one") == 2
    page = (tmp_path / "one" / "changes" / "changes.html").read_text()
    assert "june-2023 and current: " in page
    assert "tokenizers 0.13.3 to " in page
    assert compare(tmp_path / "one", tmp_path / "two") == 2
    page = (tmp_path / "two" / "changes" / "changes.html").read_text()
    assert "gone: 1 package: datasets 1.0 to 2.0." in page
    assert "packages that differ between" in capsys.readouterr().out


@pytest.mark.slow
def test_no_common_cell_is_refused(tmp_path, capsys):
    write_run(tmp_path, "old", 1)
    write_run(tmp_path, "new", 1, files=3)
    assert compare("old", "new", "--results", tmp_path) == 2
    assert "no cell was run both by old and by new" in capsys.readouterr().err
