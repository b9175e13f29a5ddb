"""Scripts of the workflow refuse damaged input in one line, and leave no partial output."""

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest

from beyond_ram.records import tables

from ..records.test_cell_runs import cut, cut_at_a_line
from .conftest import drawing, figure, gathered


@pytest.mark.slow
@pytest.mark.parametrize("spoil", [cut, cut_at_a_line])
def test_cut_samples_are_not_collected(tokenised, script, spoil):
    samples, folder = tokenised[1].with_name("samples.csv"), tokenised[1].parents[12]
    files = {name: str(folder / f"made.{name}") for name in ("runs", "samples", "stamps")}
    outputs, params = SimpleNamespace(**files), SimpleNamespace(lost=[], runs=str(folder / "runs"))
    script("collect", folder, outputs, params, run_jsons=[*map(str, tokenised)], further=[])
    for path in files.values():
        Path(path).unlink()
    spoil(samples)
    with pytest.raises(SystemExit, match=str(samples)):
        script("collect", folder, outputs, params, run_jsons=[*map(str, tokenised)], further=[])
    assert not list(folder.glob("*made*"))
    assert (folder / "log").read_text().startswith(f"{samples}: ")
    assert (folder / "log").read_text().count("\n") == 1


@pytest.mark.parametrize("kind", ["collected", "samples"])
def test_no_report_is_made_from_cut_collected_files(tokenised, tmp_path, report, kind):
    files = gathered(tmp_path, tokenised)
    cut(Path(files[kind][0]))
    with pytest.raises(SystemExit, match=rf"^{files[kind][0]}: cut"):
        report(tmp_path, tokenised, {}, files=files)
    assert not list(tmp_path.glob("*report.html"))


@pytest.mark.parametrize("content", ["<svg", "<html/>"])
def test_no_report_is_made_from_an_invalid_drawing(tokenised, tmp_path, report, content):
    (tmp_path / "one.svg").write_text(content)
    (tmp_path / "one.txt").write_text("One figure.")
    with pytest.raises(SystemExit, match=rf"^{tmp_path / 'one.svg'}: no drawing"):
        report(tmp_path, tokenised, {}, svg=[str(tmp_path / "one.svg")], figures=[("One", "Chapter", ["growth"])])
    assert not list(tmp_path.glob("*report.html"))


@pytest.mark.slow
def test_snakemake_shows_the_line_and_fails(tokenised, root, tmp_path, path):
    cut(tokenised[0])
    (tmp_path / "Snakefile").write_text(
        f"rule collect:\n    input: run_jsons={[str(path) for path in tokenised]}, further=[]\n"
        "    output: runs='runs.parquet', samples='samples.parquet', stamps='stamps.json'\n"
        f"    log: 'runs.log'\n    params: lost=[], runs='runs'\n    script: {str(root / 'scripts/collect.py')!r}\n"
    )
    command = ["snakemake", "--cores", "1", "--directory", str(tmp_path), "-s", "Snakefile"]
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(root)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"{tokenised[0]}: no JSON, or cut, at line" in done.stderr
    assert not list(tmp_path.glob("*.parquet"))


@pytest.fixture
def written(tmp_path):
    """A table as the workflow writes it."""
    tables.write(pd.DataFrame({"a": range(1000)}), tmp_path / "streaming.csv", tmp_path / "streaming.parquet")
    return tmp_path / "streaming.parquet"


@pytest.mark.parametrize("kind", ["cut", "another table", "foreign", "missing"])
def test_damaged_or_foreign_table_is_refused(written, root, script, kind):
    content = written.read_bytes()
    if kind == "cut":  # the footer of a whole file, without its data
        written.write_bytes(b"PAR1" + content[-2000:])
    elif kind == "another table":
        tables.write(pd.DataFrame({"b": [1]}), written.with_name("x.csv"), written.with_name("growth.parquet"))
        written.with_name("growth.parquet").replace(written)
    elif kind == "foreign":
        pd.DataFrame({"experiment": ["e"], "stack": ["s"]}).to_parquet(written)
    else:
        written.unlink()
    outputs = figure(written.parent, "requests_by_workers")
    with pytest.raises(SystemExit, match=rf"^{written}: .*; delete it, and Snakemake makes it again$"):
        script("figure", written.parent, outputs, **drawing(root, "requests_by_workers", streaming=str(written)))
    page = SimpleNamespace(page=str(written.parent / "report.html"), brief=str(written.parent / "summary.txt"))
    params = SimpleNamespace(figures=[], left_out=[], configfiles=[], folder=None, lost=[])
    with pytest.raises(SystemExit, match=rf"^{written}: "):
        script("report", written.parent, page, params, tables=[str(written)], svg=[], runs=[])
    leftovers = {path.name for path in written.parent.iterdir()} - {written.name, "streaming.csv", "x.csv", "log"}
    assert not leftovers
