"""Tests that measure times run in one process, with nothing else on the machine."""

import os

import pytest

measures_times = pytest.mark.skipif(
    "PYTEST_XDIST_WORKER" in os.environ, reason="measures times: run `pytest -m '' -n 0 tests/watch/times`"
)
