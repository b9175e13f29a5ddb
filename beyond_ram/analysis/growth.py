"""Table `growth`: how memory at the end of the work grows with the input."""

from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from .frame import same_but_for, where

GB, MB = 1e9, 1e6
SIZE = "num_files"
"""The axis that a slope is taken over."""


def growth(runs: pd.DataFrame) -> pd.DataFrame:
    """Least-squares slopes of anonymous and file memory at the end over the input, in MB per GB, with 95 % intervals.

    A line a cell without its size, over all runs that finished their work, where there are two sizes or more. The
    interval is Student's t over n runs (scipy.stats.linregress); with fewer than three runs there is none.
    """
    lines: list[dict[str, Any]] = []
    tokenised = where(runs, workload="tokenize")
    for line, group in same_but_for(tokenised[tokenised["completed_work"].astype(bool)], SIZE) if len(runs) else ():
        if group["bytes_in"].nunique() < 2:
            continue
        for kind in ("anon", "file"):
            slope, low, high, intercept = _slope(group["bytes_in"] / GB, group[f"end_{kind}_bytes"] / MB)
            name = f"{kind}_slope_mb_per_gb"
            line |= {name: slope, f"{name}_low": low, f"{name}_high": high, f"{kind}_intercept_mb": intercept}
        lines.append({**line, "n": len(group), "bytes_in_max": group["bytes_in"].max()})
    slopes = [f"{kind}_slope_mb_per_gb{end}" for kind in ("anon", "file") for end in ("", "_low", "_high")]
    return pd.DataFrame(lines, columns=None if lines else ["experiment", "stack", *slopes, "n", "bytes_in_max"])


def _slope(x: "pd.Series[float]", y: "pd.Series[float]") -> tuple[float, float, float, float]:
    fit = stats.linregress(x, y)
    if len(x) < 3:
        return fit.slope, np.nan, np.nan, fit.intercept
    half = stats.t.ppf(0.975, len(x) - 2) * fit.stderr
    return fit.slope, fit.slope - half, fit.slope + half, fit.intercept
