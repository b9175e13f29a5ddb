"""Table `growth`: how memory at the end of the work grows with the input."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from ..units import GB, MB
from .frame import axes, same_but_for, where

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


@dataclass(frozen=True)
class Fit:
    """A line of `growth` over the range of its runs: input in GB, memory in MB.

    `half_mb` is half the height of the 95 % band of the fitted line; None under three runs.
    """

    runs: pd.DataFrame
    input_gb: "np.ndarray[Any, Any]"
    fitted_mb: "np.ndarray[Any, Any]"
    half_mb: "np.ndarray[Any, Any] | None"


def fitted(runs: pd.DataFrame, line: "pd.Series[Any]", kind: str) -> Fit:
    """The fit of a line of table `growth` for `anon` or `file` memory, with the runs of table `runs` it was made of."""
    mine = where(runs[runs["completed_work"].astype(bool)], **line[axes(line.to_frame().T)].dropna())
    x, y = mine["bytes_in"].to_numpy() / GB, mine[f"end_{kind}_bytes"].to_numpy() / MB
    slope, intercept = line[f"{kind}_slope_mb_per_gb"], line[f"{kind}_intercept_mb"]
    grid = np.linspace(x.min(), x.max(), 50)
    if len(x) < 3:
        return Fit(mine, grid, intercept + slope * grid, None)
    spread = np.sqrt(((y - intercept - slope * x) ** 2).sum() / (len(x) - 2))
    away = (grid - x.mean()) ** 2 / ((x - x.mean()) ** 2).sum()
    half = stats.t.ppf(0.975, len(x) - 2) * spread * np.sqrt(1 / len(x) + away)
    return Fit(mine, grid, intercept + slope * grid, half)
