"""Repeats of one rate: their mean."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats


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
