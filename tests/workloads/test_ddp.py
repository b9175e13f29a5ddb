"""Two ranks over one dataset."""

from pathlib import Path

import pytest

from .tokens import ROWS, WORKLOADS, read_events, run_together

pytestmark = pytest.mark.slow


@pytest.mark.end_to_end
def test_two_ranks_get_every_row_once(dataset: Path, tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    words = ["--work-dir", tmp_path, "--tokens-dir", dataset, "--loader", "memmap_batched", "--workers", "2"]
    words += ["--order", "sequential", "--ranks", "2", "--batch-size", "256"]
    assert run_together([(events, WORKLOADS / "ddp.py", *words)]) == [0]
    work = next(event for event in read_events(events) if event["event"] == "work")
    assert (work["rows_missing"], work["rows_twice"], work["rows_wrong"]) == (0, 0, 0)
    assert sum(work["rows_per_rank"]) == ROWS
    assert max(work["rows_per_rank"]) - min(work["rows_per_rank"]) <= 1
