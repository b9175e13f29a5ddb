"""Two ranks over one dataset."""

from pathlib import Path

import pytest

from ..conftest import interpreter
from .tokens import ROWS, WORKLOADS, read, run

pytestmark = pytest.mark.slow


def test_two_ranks_have_every_row_once(dataset: Path, tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    words = ["--work-dir", tmp_path, "--tokens-dir", dataset, "--loader", "memmap_batched", "--workers", "2"]
    words += ["--order", "sequential", "--ranks", "2", "--batch-size", "256"]
    run("env", f"BEYOND_RAM_EVENTS={events}", interpreter("loaders"), WORKLOADS / "ddp.py", *words)
    work = next(event for event in read(events) if event["event"] == "work")
    assert (work["rows_missing"], work["rows_twice"], work["rows_wrong"]) == (0, 0, 0)
    assert sum(work["rows_per_rank"]) == ROWS
    assert max(work["rows_per_rank"]) - min(work["rows_per_rank"]) <= 1
