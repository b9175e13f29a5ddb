"""The memory request of a job."""

from dataclasses import replace

from beyond_ram.experiment import Cell
from beyond_ram.memory_request import MIB, request_of
from beyond_ram.workflow import job_memory

from ..watch.test_memory_request import record


def test_request_is_the_largest_one_measured_or_the_estimate_doubled_per_attempt(tmp_path, monkeypatch):
    cell = Cell("growth", (("stack", "current"),), 2)
    assert job_memory.request_mb(tmp_path, cell, 4000, attempt=3) == 16000
    measured = {rep: replace(request_of(record()), request_bytes=size * MIB) for rep, size in ((1, 2000), (2, 1000))}
    for rep in measured:
        (tmp_path / Cell(cell.experiment, cell.axes, rep).path).mkdir(parents=True)
    monkeypatch.setattr(job_memory, "_request", lambda run: measured[int(run.name.rpartition("~")[2])])
    assert job_memory.request_mb(tmp_path, cell, 4000) == int(2000 * MIB / 1e6) + job_memory.DRIVER_MB
