"""How much each metric varies between sessions, which repeats cannot show.

A session is one call on one machine. Method: docs/method.md.
"""

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from beyond_ram.analysis.comparisons import compared
from beyond_ram.analysis.decide import FEWEST_REPEATS, differences, side
from beyond_ram.analysis.frame import Pairs, axes, cells, key
from beyond_ram.analysis.thresholds import threshold_of
from beyond_ram.metrics import METRICS

COLUMNS = ["metric", "contrast_sd_log", "contrast_degrees", "mean_sd_log", "mean_degrees", "sessions"]
# Degrees of freedom of heavy tails, for lines whose spreads differ by more than a chi-square explains.
_HEAVY = 4.0
Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class _Effect:
    """The log of a ratio, or of a mean, in one session."""

    value: float
    variance: float
    """The part of the variance of `value` that the scatter within the session explains."""


def measured(sessions: Sequence[pd.DataFrame], pairs: Pairs) -> pd.DataFrame:
    """The spread of each metric over tables `runs` of several sessions that ran the same cells."""
    contrasts = _by_metric(map(dict, (_contrasts(runs, pairs) for runs in sessions)))
    means = _by_metric(map(dict, (_means(runs) for runs in sessions)))
    lines = []
    for metric in METRICS:
        of_contrasts, of_means = contrasts.get(metric, []), means.get(metric, [])
        if not of_contrasts and not of_means:
            continue
        line: dict[str, Any] = {"metric": metric, "sessions": max(map(len, [*of_contrasts, *of_means]))}
        for name, effects in (("contrast", of_contrasts), ("mean", of_means)):
            line[f"{name}_sd_log"], line[f"{name}_degrees"] = between(effects)
        lines.append(line)
    return pd.DataFrame(lines, columns=COLUMNS)


def _by_metric(sessions: Iterable[Mapping[tuple[str, Hashable], _Effect]]) -> dict[str, list[list[_Effect]]]:
    """By metric, the effects of each line that several sessions have."""
    lines: dict[tuple[str, Hashable], list[_Effect]] = {}
    for effects in sessions:
        for name, effect in effects.items():
            lines.setdefault(name, []).append(effect)
    by_metric: dict[str, list[list[_Effect]]] = {}
    for (metric, _), effects_of_line in lines.items():
        # Logs of equal counts differ by rounding.
        different = {(round(effect.value, 9), round(effect.variance, 9)) for effect in effects_of_line}
        if len(effects_of_line) > 1 and (len(different) > 1 or different.pop()[1]):
            by_metric.setdefault(metric, []).append(effects_of_line)
    return by_metric


def _contrasts(runs: pd.DataFrame, pairs: Pairs) -> Iterator[tuple[tuple[str, Hashable], _Effect]]:
    for one in compared(runs, pairs):
        first, second = one.question.scaled()
        if one.question.as_ratio and min(len(first), len(second)) >= FEWEST_REPEATS:
            apart = differences(first, second)
            effect = _Effect(float(apart.mean()), float(apart.var(ddof=1)) / len(apart))
            yield (one.question.metric, (one.cells, one.line["axis"])), effect


def _means(runs: pd.DataFrame) -> Iterator[tuple[tuple[str, Hashable], _Effect]]:
    for _, of_workload in runs.groupby("workload", sort=False) if len(runs) else ():
        decided = [
            name for name in METRICS if name in runs and METRICS[name].decided_in(of_workload["workload"].iloc[0])
        ]
        # A metric of the workload, such as its duration, can also be a column of a side.
        columns = {*axes(of_workload), *_SIDE.intersection(of_workload), *decided}
        of_workload = of_workload[[name for name in of_workload if name in columns]]
        for cell, group in cells(of_workload):
            for metric in decided:
                values = np.array(side(group, metric).values)
                if len(values) >= FEWEST_REPEATS and values.min() > threshold_of(metric).floor:
                    logs = np.log(values)
                    yield (metric, key(cell)), _Effect(float(logs.mean()), float(logs.var(ddof=1)) / len(logs))


_SIDE = {"rep", "completed_work", "started_at", "duration_s"}


def between(lines: Sequence[Sequence[_Effect]]) -> tuple[float, float]:
    """The standard deviation between sessions, without that within each, and its degrees of freedom.

    Lines of one metric can vary differently. If their variances scatter more than a chi-square (by moments), the
    degrees are lowered, down to heavy tails (as in Smyth 2004).
    """
    if not lines:
        return math.nan, math.nan
    degrees = np.array([len(line) - 1 for line in lines], float)
    variances = np.array([np.var([effect.value for effect in line], ddof=1) for line in lines])
    within = np.array([np.mean([effect.variance for effect in line]) for line in lines])
    total = float(degrees @ variances / degrees.sum())
    pooled = max(total - float(degrees @ within / degrees.sum()), 0.0)
    if len(lines) == 1 or not total:
        return math.sqrt(pooled), float(degrees.sum())
    expected = float(np.mean(2 / degrees))
    unlike = max(float(np.var(variances, ddof=1)) / total**2 - expected, 0.0) / (1 + expected)
    prior = _HEAVY + 2 / unlike if unlike else math.inf
    scale = (prior - 2) / prior if math.isfinite(prior) else 1.0
    return math.sqrt(pooled * scale), 1 / (1 / prior + 1 / float(degrees.sum()))
