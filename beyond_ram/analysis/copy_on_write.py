"""Table `copy_on_write`: memory of the processes of a DataLoader whose dataset keeps records in memory."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from ..metrics import Events, Record, Records, derive
from ..metrics.base import phase
from ..metrics.loading import ACCOUNT, MEMORIES
from .frame import axes_of, cells
from .loaders import account
from .outcomes import of_how_many, outcome

# Each line has the median, minimum and maximum of these over the repeats.
SPREAD = [*(f"{mark}_{kind}" for mark in ("first_batch", "end") for kind in MEMORIES), "copied_bytes"]
COLUMNS = ["experiment", *axes_of("copy-on-write"), "epoch", "n", "outcome", "reason", *SPREAD, *ACCOUNT, "account"]


def copy_on_write(records: Records) -> pd.DataFrame:
    """One line per epoch of a cell of workload `copy-on-write`, or one line for a cell that finished no epoch.

    Memory is in bytes, over all processes: `first_batch_` after the first batch of the run, `end_` after the epoch.
    `copied_bytes` is the growth of anonymous PSS between the two. Row accounts are the worst of all repeats. All other
    numbers are from the `n` repeats that finished their work.
    """
    matching = [(record, events) for record, events in records if record.get("workload") == "copy-on-write"]
    runs = pd.DataFrame([line for record, events in matching for line in _epochs(record, events)])
    if runs.empty:
        return pd.DataFrame(columns=COLUMNS)
    lines = [
        _line(cell, epoch, group.drop_duplicates("rep"))
        for cell, group in cells(runs)
        for _, epoch in group.groupby("epoch", dropna=False, sort=False)
    ]
    return pd.DataFrame(lines)


def _epochs(record: Record, events: Events) -> Iterator[dict[str, Any]]:
    line = {**record["cell"], **{key: record[key] for key in ("outcome", "completed_work")}}
    line["reason"] = record.get("reason") or ""
    first = [event for event in [phase(events, "after the first batch")] if event]
    ends = [at for at, event in enumerate(events) if event["event"] == "phase" and event["phase"] == "delivered"]
    begins = [0, *ends]
    for begin, end in zip(begins, ends, strict=False):
        yield line | derive(record, [*first, *events[begin + 1 : end + 1]], "copy_on_write")
    if not ends:
        yield line | derive(record, [], "copy_on_write")


def _line(cell: Mapping[str, Any], runs: pd.DataFrame, of_cell: pd.DataFrame) -> dict[str, Any]:
    """The line of an epoch, from all runs that finished it. `of_cell` has one line per run of the cell."""
    done, overall = runs[runs["completed_work"]], outcome(of_cell["outcome"])
    line = {**cell, "epoch": runs["epoch"].iloc[0], "n": len(done), "outcome": overall}
    line["reason"] = of_cell.loc[of_cell["outcome"] == overall, "reason"].iloc[0]
    for key in SPREAD:
        line |= {key: done[key].median(), f"{key}_min": done[key].min(), f"{key}_max": done[key].max()}
    line |= {key: runs[key].min() if key == "rows_delivered" else runs[key].max() for key in ACCOUNT}
    return line | {"account": account(line) + (of_how_many(len(done), len(of_cell)) if len(done) else "")}
