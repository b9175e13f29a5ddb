"""The kernel's time of waiting for memory: real files, a real limit, older records."""

import os

import pytest

from beyond_ram.metrics import derive
from beyond_ram.watch import WatchOptions, pressure, watch
from beyond_ram.watch.summary import lines

from .conftest import PYTHON, needs_group, samples_in

# Reads a mapped file of 60 MB again and again.
READ_AGAIN = """
import mmap, os, sys, time
file = os.open(sys.argv[1], os.O_RDWR)
view = mmap.mmap(file, 0, prot=mmap.PROT_READ)
until = time.monotonic() + 1.5
while time.monotonic() < until:
    sum(view[at] for at in range(0, len(view), 4096))
"""
needs_pressure = pytest.mark.skipif(pressure.open_first(None, None) is None, reason="this kernel counts no pressure")


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(bytes(60_000_000))
    with path.open("rb+") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    return path


@pytest.mark.slow
@needs_pressure
@needs_group
def test_limit_below_the_working_set_makes_the_command_wait(data, tmp_path):
    out = tmp_path / "out"
    record = watch([*PYTHON, READ_AGAIN, str(data)], out, WatchOptions(memory_limit_bytes=24 << 20))
    stalls = record["pressure"]
    assert record["outcome"] == "completed"
    assert 0.05 < stalls["full_s"] <= stalls["some_s"] <= record["duration_s"]
    values = [float(row["pressure_some_s"]) for row in samples_in(out) if row["pressure_some_s"]]
    assert len(values) >= 3
    assert values[0] < 0.1, "time before the run was counted"
    assert values == sorted(values)
    assert values[-1] <= stalls["some_s"]
    (waited,) = (line for line in lines(record) if line.startswith("waited"))
    assert f"{stalls['some_s']:.1f} s of {record['duration_s']:.1f} s for memory" in waited
    derived = derive(record, [], "runs")
    assert derived["pressure_some_s"] == stalls["some_s"]


@pytest.mark.slow
def test_missing_pressure_is_empty_not_zero(tmp_path, monkeypatch):
    monkeypatch.setattr(pressure, "MACHINE", tmp_path / "missing")
    assert pressure.open_first(tmp_path, None) is None
    monkeypatch.setattr(pressure, "open_first", lambda group, around: None)
    record = watch([*PYTHON, "import time; time.sleep(0.1)"], tmp_path / "out")
    assert record["pressure"] is None
    assert derive(record, [], "runs")["pressure_some_s"] is None
    assert {row["pressure_some_s"] for row in samples_in(tmp_path / "out")} == {""}
    assert not [line for line in lines(record) if line.startswith("waited")]


def test_pressure_file_without_both_sums_is_refused():
    assert pressure.parse(
        b"some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=40\n"
    ) == (2.5, 0.00004)
    with pytest.raises(ValueError, match="full"):
        pressure.parse(b"some avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\n")
