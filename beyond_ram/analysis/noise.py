"""The noise of one metric: how the variances of its comparisons are distributed."""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import betaln, gammaln, stdtr, stdtrit

Array = np.ndarray[Any, np.dtype[np.float64]]
# With fewer comparisons, each keeps its own variance.
_POOL = 3
# Candidate prior degrees of freedom, and how far the log of the prior variance may lie outside the sample.
_DEGREES = np.array([0.5, 1, 2, 4, 8, 16, 32, 64, 128])
_AROUND, _STEPS = 3.0, 49
# Precision of interval ends, as a share of their width.
_PRECISION = 1e-12
# Prior weights below this share do not change a p-value near the level.
_NEGLIGIBLE = 1e-6


Between = tuple[Array, Array]
"""How much effects vary between sessions: variance, and its degrees of freedom."""


@dataclass(frozen=True)
class Spread:
    """The spread of one metric between sessions: standard deviations of logarithms with their degrees of freedom.

    The effect of a session cancels in the ratio of two cells of that session, but not in a mean.
    """

    contrast_sd_log: float = 0.0
    contrast_degrees: float = math.inf
    mean_sd_log: float = 0.0
    mean_degrees: float = math.inf


NO_SPREAD = Spread()
"""For a metric whose spread is unknown. Its intervals hold for one session."""


def spreads_of(table: pd.DataFrame | None) -> dict[str, Spread]:
    """The spread between sessions of each metric, from its table (`session_spread.csv`)."""
    unknown = asdict(NO_SPREAD)
    lines = [] if table is None else table.fillna(unknown).to_dict("records")
    return {str(line["metric"]): Spread(**{name: float(line[name]) for name in unknown}) for line in lines}


class Noise:
    """The common distribution of the variances of one metric's comparisons, and its effect on each.

    It is a scaled inverse chi-square, as in limma (Smyth 2004, doi:10.2202/1544-6115.1027). Estimates by moments are
    poor with few comparisons. So degrees of freedom and scale are averaged over their likelihood F(d, d0), with a prior
    of 1/(1 + d0)^2 on the degrees. Without evidence for a common variance each comparison keeps its own.
    """

    def __init__(self, variances: Array, degrees: Array) -> None:
        positive = variances > 0  # zero has no logarithm and is not evidence of noise
        logs, own = np.log(variances[positive]), degrees[positive]
        self.pooled = len(logs) >= _POOL
        self.weight, self.prior, self.degrees = np.ones(1), np.ones(1), np.zeros(1)
        if not self.pooled:
            return
        scale = np.linspace(logs.min() - _AROUND, logs.max() + _AROUND, _STEPS)
        d, d0 = own[:, None, None], _DEGREES[None, None, :]
        distance = logs[:, None, None] - scale[None, :, None]
        with np.errstate(over="ignore"):
            likelihood = d / 2 * (np.log(d / d0) + distance) - (d + d0) / 2 * np.log1p(d / d0 * np.exp(distance))
        total = (likelihood - betaln(d / 2, d0 / 2)).sum(0) - 2 * np.log1p(_DEGREES)
        weight = np.exp(total - total.max())
        at_scale, at_degree = np.nonzero(weight > _NEGLIGIBLE * weight.sum())
        likely = weight[at_scale, at_degree]
        self.weight, self.prior, self.degrees = likely / likely.sum(), np.exp(scale[at_scale]), _DEGREES[at_degree]

    def p(self, effect: Array, variance: Array, degrees: Array, n: Array, between: Between | None = None) -> Array:
        """Two-sided p-values of means of n values with these variances; NaN without any variance."""
        error, together = self._errors(variance, degrees, n, between)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.abs(effect)[:, None] / error
        # The weights add up to 1 up to rounding.
        p = np.minimum((self.weight * 2 * stdtr(together, -t)).sum(1), 1.0)
        values: Array = np.where((error > 0).all(1), p, math.nan)
        return values

    def _errors(self, variance: Array, degrees: Array, n: Array, between: Between | None) -> tuple[Array, Array]:
        """Standard errors under each prior, and their degrees of freedom.

        The variance of a mean is the variance within its session plus that between sessions (Kalibera and Jones 2013,
        doi:10.1145/2464157.2464160). The sum has Satterthwaite's degrees of freedom (1946, doi:10.2307/3002019).
        """
        own = degrees[:, None]
        within_degrees = own + self.degrees
        within = (self.degrees * self.prior + own * variance[:, None]) / within_degrees / n[:, None]
        if between is None:
            return np.sqrt(within), within_degrees
        added, of_sessions = (of[:, None] for of in between)
        total = within + added
        with np.errstate(divide="ignore", invalid="ignore"):
            together = total**2 / (within**2 / within_degrees + added**2 / of_sessions)
        return np.sqrt(total), np.where(total > 0, together, within_degrees)

    def half_width(
        self, level: Array, variance: Array, degrees: Array, n: Array, between: Between | None = None
    ) -> Array:
        """Half the width of each interval. Outside the interval, p is below `level`.

        Student's t with a single prior gives bounds. Newton's method on logarithms finds the value between them, with
        bisection if a step leaves the bounds.
        """
        error, together = self._errors(variance, degrees, n, between)
        scale = np.maximum(error, 1e-150)
        bounds = [
            -stdtrit(degree, level / 2) * scale_of
            for degree, scale_of in ((together.max(1), scale.min(1)), (together.min(1), scale.max(1)))
        ]
        low, high = np.log(np.maximum(bounds, 1e-300))
        height = 2 * self.weight * np.exp(gammaln((together + 1) / 2) - gammaln(together / 2))
        height /= np.sqrt(together * math.pi)
        middle = (low + high) / 2
        for _ in range(60):
            t = np.exp(middle)[:, None] / scale
            p = (self.weight * 2 * stdtr(together, -t)).sum(1)
            low, high = np.where(p > level, middle, low), np.where(p > level, high, middle)
            with np.errstate(divide="ignore", invalid="ignore"):
                slope = (height * t * np.exp(-(together + 1) / 2 * np.log1p(t**2 / together))).sum(1)
                step = middle + np.log(p / level) * p / slope
            new = np.where((step >= low) & (step <= high), step, (low + high) / 2)
            done = np.abs(new - middle).max(initial=0.0) < _PRECISION
            middle = new
            if done:
                break
        widths: Array = np.exp(middle)
        return widths
