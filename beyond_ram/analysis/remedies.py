"""Table `remedies`: what a remedy does to growth, peak and speed, against the same cell without one."""

import math
from typing import Any

import pandas as pd

from ..metrics import METRICS
from .compare import ratio
from .frame import same_but_for
from .matters import SHARE

SHOWN = ("grown_anon_bytes", "peak_anon_upper_bound_bytes", "tokens_per_cpu_s")
"""The metrics in which a remedy is compared with none."""
COLUMNS = ["experiment", "stack", "remedy", "metric", "without", "with", "ratio", "low", "high", "n", "effect"]


def remedies(runs: pd.DataFrame) -> pd.DataFrame:
    """A line a cell, remedy and metric. `effect` is `helps`, `harms`, `nothing`, `not enough data` or `not run`.

    `nothing` is claimed only where the whole interval lies within 5 % of no effect; what is neither that nor
    significant is `not shown`.
    """
    lines = []
    for cell, group in same_but_for(runs[runs["remedy"].notna()], "remedy"):
        if group["remedy"].nunique() < 2:
            continue
        without = group[group["remedy"] == "none"]
        for remedy, tried in group[group["remedy"] != "none"].groupby("remedy", sort=False):
            for metric in SHOWN:
                first, second = without[metric].dropna(), tried[metric].dropna()
                line: dict[str, Any] = cell | {"remedy": remedy, "metric": metric}
                found = ratio(first.tolist(), second.tolist())
                line |= {"without": first.median(), "with": second.median()}
                line |= {"ratio": found.ratio, "low": found.low, "high": found.high, "n": min(len(first), len(second))}
                not_run = tried.loc[tried["outcome"] == "not_applicable", "reason"]
                line["effect"] = "not run" if len(not_run) else _effect(found.ratio, found.low, found.high, metric)
                line["reason"] = not_run.iloc[0] if len(not_run) else ""
                lines.append(line)
    return pd.DataFrame(lines, columns=None if lines else COLUMNS)


def _effect(middle: float, low: float, high: float, metric: str) -> str:
    if math.isnan(low):
        return "not enough data"
    if low > 1 - SHARE and high < 1 + SHARE:
        return "nothing"
    if low <= 1 <= high:
        return "not shown"
    return "helps" if (middle < 1) == (METRICS[metric].direction == "lower") else "harms"
