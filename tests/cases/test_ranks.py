"""Two ranks over one dataset."""

import pytest

from beyond_ram.metrics.reported import reported

from ..conftest import ROOT
from ..workloads.conftest import dataset as dataset  # a fixture
from ..workloads.tokens import ROWS, read_events, run_together

pytestmark = pytest.mark.slow


@pytest.mark.end_to_end
def test_two_ranks_get_every_row_once(dataset, tmp_path):
    events = tmp_path / "events.jsonl"
    words = ["--tokens-dir", dataset, "--loader", "memmap_batched", "--workers", "2"]
    assert run_together([(events, ROOT / "cases/workflow/ranks.py", *words)]) == [0]
    numbers = reported(read_events(events))
    assert [numbers[f"Rows {fault} [rows, lower, exact]"] for fault in ("missing", "twice", "wrong")] == [0, 0, 0]
    fewest, most = (numbers[f"{which} rows of a rank [rows, neither, exact]"] for which in ("Fewest", "Most"))
    assert fewest + most == ROWS
    assert most - fewest <= 1
