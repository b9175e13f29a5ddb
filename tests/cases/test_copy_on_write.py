"""Records that a dataset keeps in memory: each comes once from every kind of storage, and a torn one fails the run."""

import pytest

from beyond_ram.metrics.reported import reported

from ..conftest import ROOT
from ..workloads.tokens import read_events, run, run_together

pytestmark = pytest.mark.slow

CASE = ROOT / "cases/workflow/copy_on_write.py"
HOLDINGS = ("dicts", "strings", "numpy", "arrow", "tensor")
TORN = """
import sys
sys.path.insert(0, sys.argv[1])
import copy_on_write
dataset = copy_on_write.Dicts(10)
dataset.rows[3]["text"] = "torn"
print(copy_on_write.checked([dataset[at] for at in (0, 1, 3)]))
"""


def test_every_record_comes_once_and_whole(tmp_path):
    words = ["--records", "1003", "--workers", "2", "--epochs", "2"]
    assert run_together([(tmp_path / name, CASE, "--holding", name, *words) for name in HOLDINGS]) == [0] * len(
        HOLDINGS
    )
    for holding in HOLDINGS:
        numbers = reported(read_events(tmp_path / holding))
        assert {"Copied by epoch 0 [bytes, lower]", "Copied by epoch 1 [bytes, lower]"} < {*numbers}
        assert (
            numbers["USS after the last epoch [bytes, neither]"] < numbers["RSS after the last epoch [bytes, neither]"]
        )


def test_torn_record_is_left_out():
    assert run("loaders", "-c", TORN, CASE.parent).strip() == "[0, 1]"
