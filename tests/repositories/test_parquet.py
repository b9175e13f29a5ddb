"""Generated Parquet repositories: every row once, the same bytes every time, the layout of the config."""

import json
import sys
import zlib
from pathlib import Path

import pyarrow.parquet
import pytest

from beyond_ram.experiment.repositories import ParquetRepository

from ..conftest import forking

PROGRAM = "scripts/repositories/parquet.py"


def make(root, out, **shape):
    spec = ParquetRepository(
        source="parquet", **({"files": 4, "rows_per_file": 6, "row_group_rows": 4, "row_bytes": 20} | shape)
    ).spec()
    spec_file = out.with_name(f"{out.name}.json")
    spec_file.parent.mkdir(parents=True, exist_ok=True)
    spec_file.write_text(json.dumps(spec))
    stack = forking(Path(sys.executable), "pyarrow.parquet")
    done = stack.run(root / PROGRAM, "--name", "n", "--spec", spec_file, "--out", out)
    assert done.returncode == 0, done.stderr
    return json.loads((out / "manifest.json").read_text())


def parquets(out):
    return sorted(out.rglob("*.parquet"))


@pytest.mark.slow
def test_rows_are_numbered_and_whole(root, tmp_path):
    manifest = make(root, tmp_path / "r")
    files = parquets(tmp_path / "r")
    rows = [row for file in files for row in pyarrow.parquet.read_table(file).to_pylist()]
    assert [row["row"] for row in rows] == list(range(24))
    assert all(zlib.crc32(row["payload"]) == row["crc"] and len(row["payload"]) == 20 for row in rows)
    assert len({row["payload"] for row in rows}) == 24
    assert (manifest["rows"], manifest["files"]) == (24, 4)
    assert manifest["bytes"] == sum(file.stat().st_size for file in files)
    assert pyarrow.parquet.ParquetFile(files[0]).num_row_groups == 2


@pytest.mark.slow
def test_same_config_makes_the_same_bytes(root, tmp_path):
    for name in ("a", "b"):
        make(root, tmp_path / name)
    make(root, tmp_path / "c", seed=2)
    a, b, c = ([file.read_bytes() for file in parquets(tmp_path / name)] for name in "abc")
    assert a == b
    assert a != c


@pytest.mark.slow
def test_files_are_spread_over_folders_and_configurations(root, tmp_path):
    manifest = make(root, tmp_path / "r", files=12, folders=2, configs=3)
    assert (manifest["config"], manifest["rows"], manifest["files"]) == ("config-000", 24, 4)
    folder = tmp_path / "r" / "datasets" / "local" / "n"
    names = {file.relative_to(folder).parent.as_posix() for file in parquets(folder)}
    assert names == {f"config-{config:03d}/part-{part:04d}" for config in range(3) for part in range(2)}
    first = [file for file in parquets(folder) if "config-000" in str(file)]
    assert manifest["bytes"] == sum(file.stat().st_size for file in first)
    assert sorted(r for f in first for r in pyarrow.parquet.read_table(f)["row"].to_pylist()) == list(range(24))
    assert (folder / "README.md").read_text().count("config_name") == 3


def test_files_that_cannot_be_spread_are_refused():
    with pytest.raises(ValueError, match="5 files cannot be spread evenly"):
        ParquetRepository(source="parquet", files=5, folders=2, rows_per_file=1, row_group_rows=1, row_bytes=1)
