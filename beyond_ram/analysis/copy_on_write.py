"""Table `copy_on_write`: what the processes of a DataLoader have of records that a dataset holds in memory."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from ..metrics import Events, Record, Records, derive
from ..metrics.base import phase
from ..metrics.loading import ACCOUNT, MEMORIES
from .frame import axes_of, cells
from .loaders import account

# Of these a line has the median, the lowest and the highest over the repeats.
SPREAD = [*(f"{mark}_{kind}" for mark in ("first_batch", "end") for kind in MEMORIES), "copied_bytes"]
COLUMNS = ["experiment", *axes_of("copy-on-write"), "epoch", "n", "outcome", "reason", *SPREAD, *ACCOUNT, "account"]


def copy_on_write(records: Records) -> pd.DataFrame:
    """A line an epoch of a cell of the workload `copy-on-write`, or one for a cell that came to no end of an epoch.

    Memory is that of all processes together, in bytes: `first_batch_` after the first batch of the run, `end_` after
    the epoch, `copied_bytes` what anonymous PSS grew by between the two. Accounts are the worst of the repeats.
    """
    of_ours = [(record, events) for record, events in records if record.get("workload") == "copy-on-write"]
    runs = pd.DataFrame([line for record, events in of_ours for line in _epochs(record, events)])
    if runs.empty:
        return pd.DataFrame(columns=COLUMNS)
    lines = [
        _line(cell, epoch)
        for cell, group in cells(runs)
        for _, epoch in group.groupby("epoch", dropna=False, sort=False)
    ]
    return pd.DataFrame(lines)


def _epochs(record: Record, events: Events) -> Iterator[dict[str, Any]]:
    line = {**record["cell"], "outcome": record["outcome"], "reason": record.get("reason") or ""}
    first = [event for event in [phase(events, "after the first batch")] if event]
    ends = [at for at, event in enumerate(events) if event["event"] == "phase" and event["phase"] == "delivered"]
    begins = [0, *ends]
    for begin, end in zip(begins, ends, strict=False):
        yield line | derive(record, [*first, *events[begin + 1 : end + 1]], "copy_on_write")
    if not ends:
        yield line | derive(record, [], "copy_on_write")


def _line(cell: Mapping[str, Any], runs: pd.DataFrame) -> dict[str, Any]:
    worst = runs.sort_values("outcome", key=lambda outcomes: outcomes != "completed").iloc[-1]
    line = {**cell, "epoch": worst["epoch"], "n": len(runs), "outcome": worst["outcome"], "reason": worst["reason"]}
    for key in SPREAD:
        line |= {key: runs[key].median(), f"{key}_min": runs[key].min(), f"{key}_max": runs[key].max()}
    line |= {key: runs[key].min() if key == "rows_delivered" else runs[key].max() for key in ACCOUNT}
    return line | {"account": account(line)}
