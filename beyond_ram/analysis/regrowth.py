"""Table `regrowth`: memory against epochs, which distinguishes a warm-up from a leak."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import stdtrit  # scipy.stats takes half a second to import

from ..metrics import Events, Record, Records
from ..metrics.base import readings
from .decide import AT_LEAST, LEVEL
from .outcomes import by_cell
from .results import FEW, NOISY
from .thresholds import EPOCH_BYTES, EPOCH_SHARE

# Fewer later epochs than this cannot distinguish a slope from noise.
LATER = 3
# The kernel counts memory in pages, so slopes of equal runs scatter by at least this much.
_PAGE = 4096.0
COLUMNS = [
    "experiment",
    "stack",
    "epochs_read",
    "slope_bytes",
    "slope_bytes_low",
    "slope_bytes_high",
    "n",
    "regrowth",
    "reason",
]


@dataclass(frozen=True)
class Slope:
    """Growth of anonymous memory in one run: in bytes per epoch over the later epochs, and in the first. None if
    unknown."""

    epochs: int
    first_bytes: float | None
    slope_bytes: float | None


@dataclass(frozen=True)
class Regrowth:
    """For a cell: the mean slope of its runs in bytes per epoch, with its 95 % interval; NaN with one run."""

    shape: Literal["levels off", "grows", "undecided"]
    reason: str = ""
    """Why it is undecided."""
    slope_bytes: float = math.nan
    low_bytes: float = math.nan
    high_bytes: float = math.nan
    n: int = 0


def fit(events: Events) -> Slope:
    """The slope of anonymous memory against epochs, by least squares. The first half is left out as warm-up.

    It has no interval, because readings of one run depend on each other.
    """
    sizes = [event["tree"]["anon_bytes"] for event in readings(events, "epoch")]
    imported = readings(events, "imported")
    first = sizes[0] - imported[-1]["tree"]["anon_bytes"] if sizes and imported else None
    later = sizes[len(sizes) // 2 :]
    if len(later) < LATER:
        return Slope(len(sizes), first, None)
    (variance, together), _ = np.cov(range(len(later)), later, bias=True)
    slope = float(together / variance)
    return Slope(len(sizes), first, slope)


def over(runs: Sequence[Slope], epoch_input_bytes: float) -> Regrowth:
    """Decide growth over the runs of a cell. Runs are independent of each other; epochs of a run are not.

    `grows` if the interval of the mean slope is above the threshold, `levels off` if it is below.
    """
    slopes = np.array([run.slope_bytes for run in runs if run.slope_bytes is not None])
    if not len(slopes):
        return Regrowth("undecided", "too few epochs")
    mean = float(slopes.mean())
    if len(slopes) < AT_LEAST:
        return Regrowth("undecided", FEW, mean, n=len(slopes))
    scatter = max(float(slopes.std(ddof=1)), _PAGE)
    half = float(stdtrit(len(slopes) - 1, (1 + LEVEL) / 2)) * scatter / math.sqrt(len(slopes))
    matters = max(EPOCH_BYTES, EPOCH_SHARE * epoch_input_bytes)
    ends = (mean, mean - half, mean + half, len(slopes))
    if mean - half > matters:
        return Regrowth("grows", "", *ends)
    return Regrowth("levels off", "", *ends) if mean + half < matters else Regrowth("undecided", NOISY, *ends)


def regrowth(records: Records) -> pd.DataFrame:
    """One line per cell that has epochs, over its `n` runs that finished their work. Slopes in bytes per epoch."""
    finished = (
        (record, (epoch_input_bytes(record, events), growth))
        for record, events in records
        if (growth := fit(events)).epochs and record["completed_work"]
    )
    lines = []
    for cell, runs in by_cell(finished):
        size = runs[0][0]
        decided = over([growth for _, growth in runs], size)
        firsts = [growth.first_bytes for _, growth in runs if growth.first_bytes is not None]
        lines.append(
            {
                **cell,
                "epochs_read": min(growth.epochs for _, growth in runs),
                "epoch_input_bytes": size,
                "first_epoch_bytes": float(np.mean(firsts)) if firsts else math.nan,
                "slope_bytes": decided.slope_bytes,
                "slope_bytes_low": decided.low_bytes,
                "slope_bytes_high": decided.high_bytes,
                "n": len(runs),
                "regrowth": decided.shape,
                "reason": decided.reason,
            }
        )
    return pd.DataFrame(lines, columns=None if lines else COLUMNS)


def epoch_input_bytes(record: Record, events: Events) -> float:
    """The input of one epoch in bytes. Some workloads report the input of one epoch and some that of all, so it is
    taken from the epoch's share of the rows; if rows are not counted, an equal part."""
    epochs = (event for event in events if event["event"] == "epoch" and event.get("epoch") == 0)
    first = sum(event.get("rows_delivered") or 0 for event in epochs)
    rows = record["work"].get("rows")
    share = first / rows if first and rows else 1 / max(int(record["cell"].get("epochs", 1)), 1)
    return float(record["work"].get("bytes_in", 0)) * min(share, 1.0)
