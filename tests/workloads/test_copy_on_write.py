"""The program `copy_on_write`: every record once, whatever holds it; a record that is not whole is told."""

import json
import subprocess
from pathlib import Path

import pytest

from beyond_ram.experiment.events import faults

from ..conftest import ROOT, interpreter

pytestmark = pytest.mark.slow

PROGRAM = ROOT / "scripts/workloads/copy_on_write.py"
TORN = """
import sys
sys.path.insert(0, sys.argv[1])
import copy_on_write, load
dataset = copy_on_write.Dicts(10)
dataset.rows[3]["text"] = "torn"
account = copy_on_write.Records(10)
account.take(*copy_on_write.checked([dataset[at] for at in (0, 1, 3, 3)]))
print(account.wrong, account.totals()["rows_missing"])
"""


@pytest.mark.parametrize("holding", ["dicts", "strings", "numpy", "arrow", "tensor"])
def test_every_record_comes_once(tmp_path: Path, holding: str) -> None:
    words = ["--work-dir", tmp_path, "--holding", holding, "--records", "1003", "--workers", "2", "--epochs", "2"]
    words += ["--order", "shuffled", "--start", "fork"]
    command = ["env", f"BEYOND_RAM_EVENTS={tmp_path}/events.jsonl", interpreter("loaders"), PROGRAM, *words]
    subprocess.run([str(word) for word in command], check=True, capture_output=True, timeout=300)
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert not [fault for event in events for fault in faults(event)]
    epochs = [event for event in events if event["event"] == "epoch"]
    assert [(e["rows_delivered"], e["rows_missing"], e["rows_twice"], e["rows_wrong"]) for e in epochs] == [
        (1003, 0, 0, 0)
    ] * 2
    assert set(epochs[-1]["rows_per_worker"]) == {"0", "1"}
    assert sum(event.get("phase") == "delivered" for event in events) == 2


def test_a_record_that_is_not_whole_is_told() -> None:
    done = subprocess.run(
        [str(interpreter("loaders")), "-c", TORN, str(PROGRAM.parent)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["2", "8"]
