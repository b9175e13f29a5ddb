"""Repeats of one metric: their mean, and two samples against each other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Ratio:
    """The second sample's geometric mean over the first's, with its 95 % interval; NaN where n is too small."""

    ratio: float
    low: float
    high: float

    @property
    def significant(self) -> bool:
        """Whether the interval leaves 1 out."""
        return self.low > 1 or self.high < 1


def ratio(baseline: Sequence[float], candidate: Sequence[float]) -> Ratio:
    """Welch's interval on the difference of logarithms (scipy.stats.ttest_ind): ratios are what repeats scatter in.

    No interval with fewer than two values on either side, and no ratio unless all values are above 0.
    """
    first, second = np.asarray(baseline, float), np.asarray(candidate, float)
    if not len(first) or not len(second) or (first <= 0).any() or (second <= 0).any():
        return Ratio(math.nan, math.nan, math.nan)
    logs = np.log(first), np.log(second)
    middle = math.exp(logs[1].mean() - logs[0].mean())
    if len(first) < 2 or len(second) < 2:
        return Ratio(middle, math.nan, math.nan)
    if logs[0].std() == logs[1].std() == 0:
        return Ratio(middle, middle, middle)
    interval = stats.ttest_ind(logs[1], logs[0], equal_var=False).confidence_interval(0.95)
    return Ratio(middle, math.exp(interval.low), math.exp(interval.high))


@dataclass(frozen=True)
class Mean:
    """The geometric mean of repeats with its 95 % interval; NaN where n is too small."""

    mean: float
    low: float
    high: float


def mean(values: Sequence[float]) -> Mean:
    """Student's interval on the logarithms: rates scatter in ratios. No interval from one value.

    Raises ValueError where a value is not above 0.
    """
    sample = np.asarray(values, float)
    if not len(sample) or (sample <= 0).any():
        raise ValueError(f"a geometric mean needs values above 0; given: {list(values)}")
    logs = np.log(sample)
    middle = math.exp(logs.mean())
    if len(sample) < 2:
        return Mean(middle, math.nan, math.nan)
    half = stats.t.ppf(0.975, len(sample) - 1) * stats.sem(logs)
    return Mean(middle, math.exp(logs.mean() - half), math.exp(logs.mean() + half))
