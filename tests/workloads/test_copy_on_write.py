"""The program `copy_on_write`: every record comes once from each kind of storage, and a torn one is reported."""

from typing import Any

import pytest

from ..conftest import ROOT
from .tokens import read_events, run, run_together

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


HOLDINGS = ("dicts", "strings", "numpy", "arrow", "tensor")


@pytest.fixture(scope="module")
def events_by_holding(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """Return the events of a run for each way to hold records."""
    works = [tmp_path_factory.mktemp(holding) for holding in HOLDINGS]
    words = ["--records", "1003", "--workers", "2", "--epochs", "2", "--order", "shuffled", "--start", "fork"]
    runs = [
        (work / "events.jsonl", PROGRAM, "--work-dir", work, "--holding", holding, *words)
        for holding, work in zip(HOLDINGS, works, strict=True)
    ]
    assert run_together(runs) == [0] * len(HOLDINGS)
    return {holding: read_events(work / "events.jsonl") for holding, work in zip(HOLDINGS, works, strict=True)}


@pytest.mark.parametrize("holding", HOLDINGS)
def test_every_record_comes_once(events_by_holding: dict[str, list[dict[str, Any]]], holding: str) -> None:
    events = events_by_holding[holding]
    epochs = [event for event in events if event["event"] == "epoch"]
    assert [(e["rows_delivered"], e["rows_missing"], e["rows_twice"], e["rows_wrong"]) for e in epochs] == [
        (1003, 0, 0, 0)
    ] * 2
    assert set(epochs[-1]["rows_per_worker"]) == {"0", "1"}
    assert sum(event.get("phase") == "delivered" for event in events) == 2


def test_torn_record_is_reported() -> None:
    assert run("loaders", "-c", TORN, PROGRAM.parent).split() == ["2", "8"]
