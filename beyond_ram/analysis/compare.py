"""Repeats of one rate: their mean."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .decide import middle


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
    found = middle(np.log(sample).tolist(), counted=True)
    return Mean(math.exp(found.mean), math.exp(found.low), math.exp(found.high))
