"""The size of a refused allocation, from messages as libraries write them."""

import os
import subprocess

import pytest

from beyond_ram.memory_request import request_of
from beyond_ram.watch.refused import largest

from .conftest import CLI, PYTHON, record_in

MESSAGES = {
    "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 40.0 GiB for an array with shape (9,)": 40 << 30,
    "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 320. GiB for an array with shape (9,)": 320 << 30,
    "pyarrow.lib.ArrowMemoryError: malloc of size 4503599627370496 failed": 1 << 52,
    "pyarrow.lib.ArrowMemoryError: realloc of size 4503599627370496 failed": 1 << 52,
    "DefaultCPUAllocator: can't allocate memory: you tried to allocate 4503599627370496 bytes. Error code 12": 1 << 52,
    "memory allocation of 34359738352 bytes failed": 34359738352,
    "Error: cannot allocate vector of size 37.3 Gb": int(37.3 * (1 << 30)),
    "memory allocation of 10 bytes failed\nmemory allocation of 20 bytes failed": 20,
    "MemoryError": None,
    "terminate called after throwing an instance of 'std::bad_alloc'": None,
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0": None,
}


@pytest.mark.parametrize("text", MESSAGES)
def test_message_has_the_size(text):
    assert largest(text.encode()) == MESSAGES[text]


@pytest.mark.slow
@pytest.mark.parametrize(("status", "refused"), [(1, 40 << 30), (0, None)])
def test_size_decides_the_request_where_standard_error_is_a_file(status, refused, tmp_path):
    program = f"import sys, time; sys.stderr.write('Unable to allocate 40.0 GiB for'); sys.exit({status})"
    with (tmp_path / "log").open("w") as log:
        log.write("Unable to allocate 90.0 GiB for an earlier command")
        log.flush()
        subprocess.run([*CLI, "--out", str(tmp_path), "--", *PYTHON, program], stderr=log)
    record = record_in(tmp_path)
    assert record["refused_bytes"] == refused
    assert (request_of(record).request_bytes >= 40 << 30) is bool(refused)


@pytest.mark.slow
def test_other_streams_are_left_alone(tmp_path):
    read, write = os.pipe()
    program = "import os; os.write(2, b'Unable to allocate 40.0 GiB for'); os._exit(1)"
    done = subprocess.run([*CLI, "--out", str(tmp_path), "--", *PYTHON, program], stderr=write)
    os.close(write)
    with os.fdopen(read) as stream:
        text = stream.read()
    assert done.returncode == 1 and text.startswith("Unable to allocate 40.0 GiB foroutcome")
    assert "ask for     at least" in text
    assert record_in(tmp_path)["refused_bytes"] is None
