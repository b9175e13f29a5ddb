"""Table `regrowth`: memory against epochs, which separates a warm-up from a leak."""

import math
from dataclasses import dataclass
from typing import Literal

import pandas as pd
from scipy import stats

from ..metrics import Events, Record, Records
from .matters import EPOCH_BYTES, EPOCH_SHARE
from .owners import readings

# Fewer later epochs than this cannot tell a slope from noise.
LATER = 3
COLUMNS = ["experiment", "stack", "epochs", "slope_bytes", "slope_bytes_low", "slope_bytes_high", "regrowth"]


@dataclass(frozen=True)
class Regrowth:
    """Bytes of anonymous memory an epoch, over the later epochs, with the 95 % interval of the fit."""

    verdict: Literal["levels off", "grows", "too few epochs", "unclear"]
    epochs: int
    first_bytes: float | None = None
    slope_bytes: float | None = None
    low_bytes: float | None = None
    high_bytes: float | None = None


def fit(events: Events, epoch_input_bytes: float) -> Regrowth:
    """Fit anonymous memory against epochs, the first half left out as warm-up (scipy.stats.linregress).

    `grows` where the interval lies above what matters, `levels off` where it lies below, `unclear` between.
    """
    sizes = [event["tree"]["anon_bytes"] for event in readings(events, "epoch")]
    later = sizes[len(sizes) // 2 :]
    if len(later) < LATER:
        return Regrowth("too few epochs", len(sizes))
    line = stats.linregress(range(len(later)), later)
    # No residual at all gives no standard error: the interval is the slope.
    half = stats.t.ppf(0.975, len(later) - 2) * (0.0 if math.isnan(line.stderr) else line.stderr)
    low, high = line.slope - half, line.slope + half
    matters = max(EPOCH_BYTES, EPOCH_SHARE * epoch_input_bytes)
    verdict: Literal["levels off", "grows", "unclear"]
    verdict = "grows" if low > matters else "levels off" if high < matters else "unclear"
    imported = readings(events, "imported")
    first = sizes[0] - imported[-1]["tree"]["anon_bytes"] if imported else None
    return Regrowth(verdict, len(sizes), first, line.slope, low, high)


def regrowth(records: Records) -> pd.DataFrame:
    """A line a run that has epochs. Slopes in bytes an epoch."""
    lines = []
    for record, events in records:
        found = fit(events, epoch_input_bytes(record))
        if not found.epochs:
            continue
        lines.append(
            {
                **record["cell"],
                "epochs": found.epochs,
                "epoch_input_bytes": epoch_input_bytes(record),
                "first_epoch_bytes": found.first_bytes,
                "slope_bytes": found.slope_bytes,
                "slope_bytes_low": found.low_bytes,
                "slope_bytes_high": found.high_bytes,
                "regrowth": found.verdict,
            }
        )
    return pd.DataFrame(lines, columns=None if lines else COLUMNS)


def epoch_input_bytes(record: Record) -> float:
    return float(record["work"].get("bytes_in", 0)) / max(int(record["cell"].get("epochs", 1)), 1)
