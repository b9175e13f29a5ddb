"""Table `owners`: what came free at each step of the teardown."""

import itertools
from typing import Any

import pandas as pd

from ..metrics import Events, Record, Records
from ..metrics.base import Event
from .matters import GROWN_BYTES

RESIDUE = "residue"
COLUMNS = ["experiment", "stack", "rung", "owner", "anon_released_bytes", "file_released_bytes", "share"]


def owners(records: Records) -> pd.DataFrame:
    """A line a step of each run that finished its work and whose teardown came to its end, and one for what remains.

    `share` is of the growth of anonymous memory from the mark `imported` to the first reading of the teardown. The
    shares of a run add up to 1, with `residue`, what remained above the imports at the end. No share where less than
    `GROWN_BYTES` had grown: of so little there is none to speak of.
    """
    lines = [line for record, events in records if record["completed_work"] for line in steps(record, events)]
    return pd.DataFrame(lines, columns=None if lines else COLUMNS)


def steps(record: Record, events: Events) -> list[dict[str, Any]]:
    """The lines of one run."""
    imported = readings(events, "imported")[-1:]
    released_at = readings(events, "released")
    if not imported or len(released_at) < 2:
        return []
    before = imported[0]["tree"]
    growth = released_at[0]["tree"]["anon_bytes"] - before["anon_bytes"]
    found = []
    for before_step, step in itertools.pairwise(released_at):
        released = {
            kind: before_step["tree"][f"{kind}_bytes"] - step["tree"][f"{kind}_bytes"] for kind in ("anon", "file")
        }
        found.append((step["rung"], step["owner"], released))
    remains = {kind: released_at[-1]["tree"][f"{kind}_bytes"] - before[f"{kind}_bytes"] for kind in ("anon", "file")}
    found.append((released_at[-1]["rung"] + 1, RESIDUE, remains))
    return [
        {
            **record["cell"],
            "rung": rung,
            "owner": owner,
            "anon_released_bytes": released["anon"],
            "file_released_bytes": released["file"],
            "share": released["anon"] / growth if growth >= GROWN_BYTES else None,
            "anon_grown_bytes": growth,
        }
        for rung, owner, released in found
    ]


def readings(events: Events, name: str) -> list[Event]:
    """The events of a name that have a reading of the tree beside them."""
    return [event for event in events if event["event"] == name and "anon_bytes" in event.get("tree", {})]
