"""The smallest differences that matter."""

import math
from dataclasses import dataclass

from ..metrics import METRICS
from ..metrics.runs import FAILED

SMALLEST_SHARE = 0.05
"""Share of the baseline, for comparisons of two ways to do the same work."""
SMALLEST_IN_UNIT = {"bytes": 8e6, "requests": 1.0, "s": 0.1}
"""Smallest difference in the metric's unit."""
EPOCH_SHARE, EPOCH_BYTES = 0.01, 500_000
"""Growth per epoch: the larger of this share of an epoch's input and this many bytes."""
GROWN_BYTES, GROWN_SHARE = 16e6, 0.05
"""Growth over the whole work: the larger of this many bytes and this share of the input. Interpreters and libraries
vary by less."""
GROWTH_INPUT_BYTES = 20e6
"""The amount of text from which on a rate of growth is reported. Of two stacks that level off in the default run,
one was level after 10 MB of text and the other bent at 20 MB. A rate over less text could be the start of a level."""
ABSURD = 10
"""A detectable ratio above this is written as "over 10 times": two noisy repeats can give any number, and who reads it
needs more runs in any case."""


@dataclass(frozen=True)
class Threshold:
    """The smallest difference of one metric that matters."""

    share: float = SMALLEST_SHARE
    """Share of the baseline."""
    least: float = 0.0
    """In the metric's unit."""
    floor: float = 0.0
    """Values below it, in the metric's unit, are compared by differences instead of ratios."""

    def covers(self, effect: float, baseline: float, as_ratio: bool) -> bool:
        """Whether an effect is too small to matter.

        With `as_ratio`, the effect is the log of a ratio and the baseline a log. Else they are a difference and a plain
        value.
        """
        if as_ratio and effect > 100:  # exp() would overflow
            return False
        if as_ratio and abs(effect) <= math.log1p(self.share):
            return True
        difference = abs(math.exp(baseline) * math.expm1(effect)) if as_ratio else abs(effect)
        return difference < self.least or (not as_ratio and difference <= self.share * abs(baseline))


def threshold_of(metric: str) -> Threshold:
    """The threshold of a metric, from its unit."""
    if metric == FAILED:
        return Threshold(floor=0.1)
    least = SMALLEST_IN_UNIT.get(METRICS[metric].unit, 0.0)
    return Threshold(least=least, floor=least)
