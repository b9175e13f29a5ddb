"""Collected runs equal their folders, for any number of runs."""

import json
import resource
import time

import pandas as pd
import pyarrow.parquet as pq
import pytest

from beyond_ram.analysis.regrowth import regrowth
from beyond_ram.analysis.runs import runs as table_runs
from beyond_ram.experiment import Cell
from beyond_ram.files import DamagedError
from beyond_ram.records import cell_runs, tables
from beyond_ram.records.collected import RUNS_AT_A_TIME, Runs, Samples, collect

from ..scaled import Source, copies
from .test_cell_runs import CELL, cut, run_once


def cells(count, experiment="growth"):
    return [
        Cell(experiment, tuple((dict(CELL.axes) | {"num_files": number}).items()), rep)
        for number in range(1, count // 2 + 1)
        for rep in (1, 2)
    ]


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return run_once(tmp_path_factory.mktemp("source"), seconds=0.3)


def collect_into(folder, run_jsons, name="made"):
    files = folder / f"{name}.runs.parquet", folder / f"{name}.samples.parquet"
    collect(run_jsons, *files)
    return files


@pytest.mark.slow
def test_collected_runs_equal_their_folders(tmp_path, source):
    """Also over several row groups, in two files, in any order."""
    two = [copies([Source(source)], tmp_path / "runs", cells(count, name)) for count, name in ((300, "a"), (4, "b"))]
    files = [collect_into(tmp_path, paths, str(number)) for number, paths in enumerate(two)]
    runs = Runs([file for file, _ in files])
    samples = Samples([file for _, file in files], runs)
    paths = [path for paths in two for path in paths]
    assert len(runs) == len(paths) > RUNS_AT_A_TIME
    assert list(runs) == tables.read_runs(paths)
    for place in (302, 0, 299, 300, RUNS_AT_A_TIME):
        assert runs[place] == tables.read_runs([paths[place]])[0]
        pd.testing.assert_frame_equal(
            samples.of(place).dropna(axis=1, how="all"),
            pd.DataFrame(cell_runs.samples(paths[place].parent)).dropna(axis=1, how="all"),
            check_dtype=False,
        )
    assert (runs.outcomes()["outcome"] == "completed").all()


@pytest.mark.slow
def test_samples_that_are_requested_in_order_are_read_once(tmp_path, source, monkeypatch):
    """Samples of many runs are in one row group."""
    paths = copies([Source(source, 1000)], tmp_path / "runs", cells(150))
    runs, samples = collect_into(tmp_path, paths)
    groups = pq.ParquetFile(samples).num_row_groups
    groups_read, read_row_group = [], pq.ParquetFile.read_row_group
    monkeypatch.setattr(
        pq.ParquetFile, "read_row_group", lambda *args: groups_read.append(args[1]) or read_row_group(*args)
    )
    all_samples = Samples([samples], Runs([runs]))
    assert {len(all_samples.lists(place)["t_s"]) for place in range(len(paths))} == {1000}
    assert groups_read == list(range(groups))
    assert groups > 1


def test_run_without_samples_has_none(tmp_path, source):
    """It is before, between or after runs with samples."""
    folders = [path.parent for path in copies([Source(source)], tmp_path / "runs", cells(6))]
    for number in (0, 2, 5):
        head = (folders[number] / "samples.csv").read_text().split("\n")[0]
        (folders[number] / "samples.csv").write_text(f"{head}\n")
        record = json.loads((folders[number] / "run.json").read_text())
        record["sampler"] |= {"lines": 0}
        (folders[number] / "run.json").write_text(json.dumps(record))
    runs, samples = collect_into(tmp_path, [folder / "run.json" for folder in folders])
    all_samples = Samples([samples], Runs([runs]))
    assert [len(all_samples.lists(number)["t_s"]) > 0 for number in range(6)] == [False, True, False, True, True, False]
    assert all_samples.lists(0)["t_s"] == []


@pytest.mark.parametrize("kind", ["cut", "of the other kind", "foreign", "missing"])
def test_damaged_collected_files_get_one_line(tmp_path, source, kind):
    runs, samples = collect_into(tmp_path, copies([Source(source)], tmp_path / "runs", cells(2)))
    if kind == "cut":
        cut(runs)
    elif kind == "of the other kind":
        samples.replace(runs)
    elif kind == "foreign":
        pd.DataFrame({"run": ["a"], "outcome": ["{}"]}).to_parquet(runs)
    else:
        runs.unlink()
    with pytest.raises(DamagedError, match=rf"^{runs}: .*; delete it, and Snakemake makes it again$"):
        list(Runs([runs]))


def cpu_s(work):
    begun = time.process_time()
    work()
    return time.process_time() - begun


@pytest.mark.slow
def test_time_is_linear_and_memory_constant_in_the_number_of_runs(tmp_path, source):
    """60 and 600 runs of 1,000 samples."""
    cpu_times = {"collect": [], "runs": [], "regrowth": []}
    peaks = []
    for count in (60, 600):
        run_jsons = copies([Source(source, 1000)], tmp_path / str(count), cells(count))
        files = [tmp_path / f"{count}.{kind}.parquet" for kind in ("runs", "samples")]
        cpu_times["collect"].append(cpu_s(lambda: collect(run_jsons, *files)))  # noqa: B023 - called at once
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        runs = Runs(files[:1])
        cpu_times["runs"].append(cpu_s(lambda: table_runs(runs)))  # noqa: B023
        cpu_times["regrowth"].append(cpu_s(lambda: regrowth(runs)))  # noqa: B023
    # A quadratic step would take a hundred times the time.
    assert {step: few * 25 > many for step, (few, many) in cpu_times.items()} == dict.fromkeys(cpu_times, True), (
        cpu_times
    )
    assert peaks[1] - peaks[0] < 60, "MiB more for ten times the samples"
