"""Residency of files, eviction, and the warning if another process changes it."""

import os
import subprocess

import pytest

from beyond_ram.watch.pagecache import Residency, drift, evict, residency

from .conftest import PYTHON

MB = 1 << 20


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "input"
    path.write_bytes(os.urandom(20 * MB))
    evict([path])
    if residency([path]).resident_bytes:
        pytest.skip("this file system lives in the page cache: nothing can be evicted")
    return path


@pytest.mark.slow
def test_residency_follows_reads_and_evictions(file):
    file.read_bytes()
    assert residency([file]) == Residency(20 * MB, 20 * MB)
    evict([file])
    assert residency([file]) == Residency(0, 20 * MB)


def test_files_just_written_are_evicted_and_whole(file):
    content = os.urandom(20 * MB)
    file.write_bytes(content)
    evict([file])
    assert residency([file]) == Residency(0, 20 * MB)
    assert file.read_bytes() == content


def test_empty_files_have_no_residency(tmp_path):
    (tmp_path / "empty").touch()
    assert residency([tmp_path / "empty"]) is None
    assert residency([]) is None


@pytest.mark.slow
def test_reads_of_the_command_are_no_drift(watched, file):
    record = watched(f"open({str(file)!r}, 'rb').read()", inputs=[file])
    assert record["page_cache"]["input_resident_before"] == 0
    assert record["page_cache"]["input_resident_after"] > 0.95  # the kernel may take some pages back
    assert record["page_cache"]["warning"] is None
    assert abs(record["storage"]["read_bytes"] - 20 * MB) < 4 * MB
    cached = watched(f"open({str(file)!r}, 'rb').read()", inputs=[file])["storage"]
    assert cached["read_bytes"] < 4 * MB and 20 * MB <= cached["returned_bytes"] < 30 * MB


@pytest.mark.slow
def test_reads_of_another_process_are_drift(watched, file):
    # One FIFO in each direction: the command waits for the other process, which is not its child.
    go, done = file.with_name("go"), file.with_name("done")
    for fifo in (go, done):
        os.mkfifo(fifo)
    reads = f"open({str(go)!r}).read(); open({str(file)!r}, 'rb').read(); open({str(done)!r}, 'w').close()"
    with subprocess.Popen([*PYTHON, reads]):
        record = watched(f"open({str(go)!r}, 'w').close(); open({str(done)!r}).read()", inputs=[file])
    assert "another process read it" in record["page_cache"]["warning"]


def test_dropped_pages_are_drift():
    assert "dropped" in str(drift(Residency(20 * MB, 20 * MB), Residency(0, 20 * MB), 0))
    assert drift(Residency(0, 20 * MB), Residency(1 * MB, 20 * MB), 0) is None
