"""Table `owners`: the memory that each step of the teardown released."""

import itertools
from typing import Any

import pandas as pd

from ..metrics import Events, Record, Records
from ..metrics.base import Event
from .thresholds import GROWN_BYTES

RESIDUE = "residue"
COLUMNS = ["experiment", "stack", "rung", "owner", "anon_released_bytes", "file_released_bytes", "share"]


def owners(records: Records) -> pd.DataFrame:
    """One line per step of each run that finished its work and its teardown, and one line for what remains.

    `share` is a share of the growth of anonymous memory, from the mark `imported` to the first reading of the teardown.
    The shares of a run add up to 1, with `residue`: what remained above the imports at the end. If less than
    `GROWN_BYTES` had grown, there is no share.
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
    # The residue is one more step, down to the memory after the imports.
    residue = {"rung": released_at[-1]["rung"] + 1, "owner": RESIDUE, "tree": before}
    lines = []
    for held, step in itertools.pairwise([*released_at, residue]):
        anon, file = (held["tree"][kind] - step["tree"][kind] for kind in ("anon_bytes", "file_bytes"))
        line = {"rung": step["rung"], "owner": step["owner"], "anon_released_bytes": anon, "file_released_bytes": file}
        line |= {"share": anon / growth if growth >= GROWN_BYTES else None, "anon_grown_bytes": growth}
        lines.append(record["cell"] | line)
    return lines


def readings(events: Events, name: str) -> list[Event]:
    """The events of a name that include a reading of the process tree."""
    return [event for event in events if event["event"] == name and "anon_bytes" in event.get("tree", {})]
