"""The rate of growth of a running program."""

import pytest

from .conftest import measures_times

MB = 1_000_000

# What it keeps follows the clock, however unevenly it runs on a busy machine.
GROWING = """
import time
kept, began = [], time.monotonic()
while (passed_s := time.monotonic() - began) < 3:
    kept += [bytearray(1_000_000) for _ in range(int(40 * passed_s) - len(kept))]
    time.sleep(0.01)
"""


@measures_times
@pytest.mark.slow
@pytest.mark.release
@pytest.mark.end_to_end
def test_growing_program_has_its_rate(watched):
    growth = watched(GROWING)["growth"]
    assert 0.4 < growth["bytes_per_s"] / (40 * MB) < 2.5
    assert growth["ceiling_bytes"] > growth["now_bytes"] > 60 * MB
