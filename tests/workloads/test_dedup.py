"""Bytes that an edit uploads again: the program with the real hf_xet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from beyond_ram.analysis.dedup import dedup
from beyond_ram.experiment.events import faults

PROGRAM = Path(__file__).parents[2] / "scripts" / "workloads" / "dedup.py"
EDITS = ["none", "append", "delete", "insert", "add-column", "update"]
ROWS = 20_000


def push(folder: Path, cdc: str, row_group_rows: int = 1_000_000) -> list[dict[str, Any]]:
    """Run the program with the driver's interpreter, and return its events."""
    folder.mkdir()
    command = [sys.executable, str(PROGRAM), "--work-dir", str(folder / "work"), "--table-rows", str(ROWS)]
    command += ["--compression", "snappy", "--cdc", cdc, "--row-group-rows", str(row_group_rows)]
    environment = {**os.environ, "BEYOND_RAM_EVENTS": str(folder / "events")}
    subprocess.run(command, env=environment, check=True)
    events = [json.loads(line) for line in (folder / "events").read_text().splitlines()]
    assert not [fault for event in events for fault in faults(event)]
    return events


def table_of(**runs: list[dict[str, Any]]) -> pd.DataFrame:
    cell = {"experiment": "x", "stack": "s", "compression": "snappy", "row_group_rows": 1_000_000, "rep": 1}
    records = [
        ({"cell": cell | {"cdc": cdc, "table_rows": ROWS}, "completed_work": True}, events)
        for cdc, events in runs.items()
    ]
    return dedup(records)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    folder = tmp_path_factory.mktemp("dedup")
    return table_of(off=push(folder / "off", "off"), on=push(folder / "on", "on"))


@pytest.mark.slow
def test_every_edit_is_counted_by_xet(table: pd.DataFrame) -> None:
    for _, lines in table.groupby("cdc"):
        assert lines["edit"].tolist() == EDITS
        by = lines.set_index("edit")
        assert by.loc["none", "new_share"] == 1.0
        assert by["new_share"].between(0, 1, inclusive="right").all()
        assert by["edited_rows"].to_dict() == {
            "none": ROWS,
            "append": ROWS * 1.01,
            "delete": ROWS - 100,
            "insert": ROWS + 100,
            "add-column": ROWS,
            "update": ROWS,
        }
        # Uploads are compressed and have a list of chunks, so their size is near that of new chunks.
        assert (by["uploaded_bytes"] < 1.1 * by["new_bytes"] + 100_000).all()
        assert (by["file_write_cpu_s"] > 0).all()


@pytest.mark.slow
def test_chunking_saves_most_after_a_delete_in_the_middle(table: pd.DataFrame) -> None:
    shares = table.pivot(index="edit", columns="cdc", values="new_share")
    assert shares.loc["delete", "off"] > 0.4, "without it, everything behind the gap is new"
    assert shares.loc["delete", "on"] < shares.loc["delete", "off"] / 2
    assert shares.loc["append", "off"] < 0.3, "chunks before the edit are uploaded again"


@pytest.mark.slow
def test_counts_of_a_second_run_are_the_same(table: pd.DataFrame, tmp_path: Path) -> None:
    again = table_of(on=push(tmp_path / "on", "on"))
    columns = ["edit", "parquet_bytes", "new_bytes", "uploaded_bytes", "new_chunks", "total_chunks"]
    before = table.loc[table["cdc"] == "on", columns].reset_index(drop=True)
    pd.testing.assert_frame_equal(again[columns], before)


def test_release_without_chunking_is_not_applicable(tmp_path: Path) -> None:
    """The stub of pyarrow lacks the option."""
    stub = tmp_path / "stubs" / "pyarrow"
    stub.mkdir(parents=True)
    (stub / "__init__.py").write_text("")
    (stub / "compute.py").write_text("")
    (stub / "parquet.py").write_text(
        "class ParquetWriter:\n    def __init__(self, where): pass\n\n\ndef write_table(table, where): pass\n"
    )
    command = [sys.executable, str(PROGRAM), "--work-dir", str(tmp_path / "work"), "--table-rows", "10"]
    command += ["--compression", "none", "--cdc", "on", "--row-group-rows", "10"]
    environment = {"PYTHONPATH": str(tmp_path / "stubs"), "BEYOND_RAM_EVENTS": str(tmp_path / "events")}
    subprocess.run(command, env={**os.environ, **environment}, check=True)
    lines = [json.loads(line) for line in (tmp_path / "events").read_text().splitlines()]
    assert lines[-1]["event"] == "not_applicable"
    assert "no content-defined chunking" in lines[-1]["reason"]
