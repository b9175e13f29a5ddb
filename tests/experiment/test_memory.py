"""The memory that a job asks for."""

from pathlib import Path

from beyond_ram.experiment import Cell, memory


def test_without_a_measured_peak_a_memory_request_is_the_estimate_and_doubles_with_each_attempt(tmp_path: Path) -> None:
    cell = Cell("growth", (("stack", "current"),), 2)
    assert memory.request_mb(tmp_path, cell, 4000) == 4000
    assert memory.request_mb(tmp_path, cell, 4000, attempt=3) == 16000
