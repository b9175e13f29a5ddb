"""Table `reported`: the metrics that scripts report themselves, and what they asked of a Hub."""

from collections.abc import Sequence

import pandas as pd

from ..metrics import METRICS
from ..metrics.base import EXACT, Metric
from .decide import Mean, arithmetic, geometric
from .frame import cells
from .thresholds import threshold_of

ASKED = ("requests", "bytes_received")
COLUMNS = ["experiment", "stack", "script", "metric", "unit", "better", "n", "mean", "low", "high"]


def reported(runs: pd.DataFrame) -> pd.DataFrame:
    """One line per cell and metric: the mean of the `n` runs that finished their work, with its 95 % interval.

    Geometric where table `comparisons` compares ratios.
    """
    names = [str(name) for name in runs if name in METRICS and (name in ASKED or name not in {*METRICS})]
    finished = runs[runs["completed_work"].astype(bool) & runs["workload"].eq("script")] if names else runs.head(0)
    lines = []
    for cell, repeats in cells(finished[[name for name in finished if name not in METRICS or name in names]]):
        for name in names:
            metric, values = METRICS[name], repeats[name].dropna()
            if len(values):
                mean = _mean(metric, values.tolist())
                line = cell | {"metric": metric.label, "unit": metric.unit, "better": metric.direction, "n": mean.n}
                lines.append(line | {"mean": mean.mean, "low": mean.low, "high": mean.high})
    return pd.DataFrame(lines, columns=None if lines else COLUMNS)


def _mean(metric: Metric, values: Sequence[float]) -> Mean:
    if metric.trust.startswith(EXACT):
        return arithmetic(values, exact=True)
    is_ratio = min(values) > 0 and min(values) >= threshold_of(metric.key).floor
    return geometric(values) if is_ratio else arithmetic(values)
