"""The memory request of a job."""

from beyond_ram.experiment import Cell, memory


def test_request_without_a_peak_is_the_estimate_doubled_per_attempt(tmp_path):
    cell = Cell("growth", (("stack", "current"),), 2)
    assert memory.request_mb(tmp_path, cell, 4000) == 4000
    assert memory.request_mb(tmp_path, cell, 4000, attempt=3) == 16000
