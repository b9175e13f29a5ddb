"""Table `owners`: what came free at each step of the teardown."""

import itertools
from typing import Any

import pandas as pd

from ..metrics import Events, Record, Records
from ..metrics.base import Event

RESIDUE = "residue"
COLUMNS = ["experiment", "stack", "rung", "owner", "anon_released_bytes", "file_released_bytes", "share"]


def owners(records: Records) -> pd.DataFrame:
    """A line a step of each run that finished its work and whose teardown came to its end, and one for what remains.

    `share` is of the growth of anonymous memory from the mark `imported` to the first reading of the teardown. The
    shares of a run add up to 1, with `residue`, what remained above the imports at the end. No share where nothing had
    grown.
    """
    lines = [line for record, events in records if record["completed_work"] for line in _lines(record, events)]
    return pd.DataFrame(lines, columns=None if lines else COLUMNS)


def _lines(record: Record, events: Events) -> list[dict[str, Any]]:
    imported = readings(events, "imported")[-1:]
    steps = readings(events, "released")
    if not imported or len(steps) < 2:
        return []
    before = imported[0]["tree"]
    growth = steps[0]["tree"]["anon_bytes"] - before["anon_bytes"]
    found = []
    for before_step, step in itertools.pairwise(steps):
        released = {
            kind: before_step["tree"][f"{kind}_bytes"] - step["tree"][f"{kind}_bytes"] for kind in ("anon", "file")
        }
        found.append((step["rung"], step["owner"], released))
    remains = {kind: steps[-1]["tree"][f"{kind}_bytes"] - before[f"{kind}_bytes"] for kind in ("anon", "file")}
    found.append((steps[-1]["rung"] + 1, RESIDUE, remains))
    return [
        {
            **record["cell"],
            "rung": rung,
            "owner": owner,
            "anon_released_bytes": released["anon"],
            "file_released_bytes": released["file"],
            "share": released["anon"] / growth if growth > 0 else None,
            "anon_grown_bytes": growth,
        }
        for rung, owner, released in found
    ]


def readings(events: Events, name: str) -> list[Event]:
    """The events of a name that have a reading of the tree beside them."""
    return [event for event in events if event["event"] == name and "anon_bytes" in event.get("tree", {})]
