"""How large a difference has to be to matter. One that is real and smaller is not worth a sentence."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from ..metrics import METRICS

SHARE = 0.05
"""Of a metric, between two ways of doing the same: nobody would notice less."""
LEAST = {"bytes": 8e6, "requests": 1.0, "s": 0.1}
"""In the metric's unit, between two versions."""
ABSURD = 100
"""A ratio that could have been seen says nothing above this: two repeats that scatter come to such."""
STEP_SHARE = 0.10
"""Of the larger side of a step between two versions. With one run on a side, which says nothing about noise, a step
that is twice as large as this and as LEAST is looked at more closely."""
EPOCH_SHARE, EPOCH_BYTES = 0.01, 500_000
"""Growth an epoch: this share of an epoch's input, or this much."""
GROWN_BYTES, GROWN_SHARE = 16e6, 0.05
"""Growth over the work: this much, or this share of the input. Interpreters and libraries move by less."""


@dataclass(frozen=True)
class Bound:
    """What is too little to matter, of one metric: a share of the baseline, or so much in its unit."""

    share: float = SHARE
    least: float = 0.0
    floor: float = 0.0
    """Below it, in the metric's unit, a ratio means nothing: differences are compared."""

    def holds(self, effect: float, baseline: float, as_ratio: bool) -> bool:
        """Whether an effect is too little: the log of a ratio to a baseline's log, or a difference to a baseline."""
        if as_ratio and effect > 100:  # no float holds what it would come to
            return False
        if as_ratio and abs(effect) <= math.log1p(self.share):
            return True
        difference = abs(math.exp(baseline) * math.expm1(effect)) if as_ratio else abs(effect)
        return difference < self.least or (not as_ratio and difference <= self.share * abs(baseline))


BOUNDS: Mapping[str, Bound] = {"run_failed": Bound(floor=0.1)}
"""Of metrics for which their unit's bound is not the right one."""


def bound_of(metric: str) -> Bound:
    """The bound of a metric, by its unit: SHARE, and LEAST, which is the floor of ratios too."""
    least = LEAST.get(METRICS[metric].unit, 0.0) if metric in METRICS else 0.0
    return BOUNDS.get(metric, Bound(least=least, floor=least))
