"""Table `regrowth`: memory against epochs, which distinguishes a warm-up from a leak."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit  # scipy.stats takes half a second to import

from ..metrics import Events, Record, Records
from ..metrics.base import readings
from .decide import FEWEST_REPEATS, LEVEL
from .outcomes import by_cell
from .results import FEW, NOISY
from .thresholds import EPOCH_BYTES, EPOCH_SHARE

# Fewer later epochs than this cannot distinguish a slope from noise.
LATER = 3
# The kernel counts memory in pages, so slopes of equal runs scatter by at least this much.
_PAGE = 4096.0
COLUMNS = ["experiment", "stack", "epochs_read", "slope_bytes", "slope_bytes_low", "slope_bytes_high", "n"]
COLUMNS += ["regrowth", "reason"]


def slope_of(sizes: Sequence[float]) -> float:
    """Growth per epoch of one run by least squares, over the later half of its epochs; NaN if there are too few.

    It has no interval, because readings of one run depend on each other.
    """
    second_half = sizes[len(sizes) // 2 :]
    if len(second_half) < LATER:
        return math.nan
    (variance, together), _ = np.cov(range(len(second_half)), second_half, bias=True)
    return float(together / variance)


def over(slopes: Sequence[float], epoch_input_bytes: float) -> dict[str, Any]:
    """Decide growth over the runs of a cell. Runs are independent of each other; epochs of a run are not.

    `grows` if the interval of the mean slope is above the threshold, `levels off` if it is below. There is no interval
    with one run.
    """
    known = np.array([slope for slope in slopes if not math.isnan(slope)])
    mean, half, n = (float(known.mean()) if len(known) else math.nan), math.nan, len(known)
    if n >= FEWEST_REPEATS:
        scatter = max(float(known.std(ddof=1)), _PAGE)
        half = float(stdtrit(n - 1, (1 + LEVEL) / 2)) * scatter / math.sqrt(n)
    matters = max(EPOCH_BYTES, EPOCH_SHARE * epoch_input_bytes)
    shape = "grows" if mean - half > matters else "levels off" if mean + half < matters else "undecided"
    reason = "" if shape != "undecided" else "too few epochs" if not n else FEW if n < FEWEST_REPEATS else NOISY
    ends = {"slope_bytes": mean, "slope_bytes_low": mean - half, "slope_bytes_high": mean + half}
    return ends | {"n": len(slopes), "regrowth": shape, "reason": reason}


def regrowth(records: Records) -> pd.DataFrame:
    """One line per cell that has epochs, over its `n` runs that finished their work. Slopes in bytes per epoch."""
    finished = (
        (record, (sizes, _first(sizes, events), epoch_input_bytes(record, events)))
        for record, events in records
        if (sizes := [event["tree"]["anon_bytes"] for event in readings(events, "epoch")]) and record["completed_work"]
    )
    lines = [
        cell
        | {"epochs_read": min(len(sizes) for sizes, *_ in runs), "epoch_input_bytes": runs[0][2]}
        | {"first_epoch_bytes": float(pd.Series([first for _, first, _ in runs]).mean())}
        | over([slope_of(sizes) for sizes, *_ in runs], runs[0][2])
        for cell, runs in by_cell(finished)
    ]
    return pd.DataFrame(lines, columns=None if lines else COLUMNS)


def _first(sizes: Sequence[float], events: Events) -> float:
    """Growth in the first epoch; NaN if unknown."""
    imported = readings(events, "imported")
    return sizes[0] - imported[-1]["tree"]["anon_bytes"] if imported else math.nan


def epoch_input_bytes(record: Record, events: Events) -> float:
    """The input of one epoch in bytes. Some workloads report the input of one epoch and some that of all, so it is
    taken from the epoch's share of the rows; if rows are not counted, an equal part."""
    epochs = (event for event in events if event["event"] == "epoch" and event.get("epoch") == 0)
    first = sum(event.get("rows_delivered") or 0 for event in epochs)
    rows = record["work"].get("rows")
    share = first / rows if first and rows else 1 / max(int(record["cell"].get("epochs", 1)), 1)
    return float(record["work"].get("bytes_in", 0)) * min(share, 1.0)
