"""The memory request of a job."""

import sys

import pytest

from beyond_ram.advice import advise
from beyond_ram.experiment import Cell, memory
from beyond_ram.watch import watch, write_record

CELL = Cell("growth", (("stack", "current"),), 1)


def test_request_without_a_peak_is_the_estimate_doubled_per_attempt(tmp_path):
    cell = Cell("growth", (("stack", "current"),), 2)
    assert memory.request_mb(tmp_path, cell, 4000) == 4000
    assert memory.request_mb(tmp_path, cell, 4000, attempt=3) == 16000


@pytest.mark.parametrize("status", [0, 1])
def test_request_after_a_run_is_its_advice_or_the_estimate_if_it_failed(status, tmp_path):
    folder, program = tmp_path / CELL.path, f"import sys; held = bytearray(100_000_000); sys.exit({status})"
    record = watch([sys.executable, "-S", "-c", program], folder)
    write_record(record | {"cell": CELL.parameters(), "workload": "tokenize"}, folder)
    needed_mb = int(advise(record).ask_bytes / 1e6) + memory.DRIVER_MB
    assert needed_mb > 450 and memory.request_mb(tmp_path, CELL, 4000) == (4000 if status else needed_mb)
