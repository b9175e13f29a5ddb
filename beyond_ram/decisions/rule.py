"""Decide two sides from all their runs so far.

The order of the sides is drawn (`turns`), and a test asks how many of the orders that could have been drawn would show
as large a difference (Fisher 1935, The Design of Experiments). So without a difference its level holds whatever the
machine does: readings may drift, repeat a pattern or depend on each other. The levels of all looks add up to 2.5 % for
`worse` and for `better`. All metrics that decide are tested together, by the largest statistic and step by step
(Westfall and Young 1993, Resampling-Based Multiple Testing). `same` is an equivalence test by two one-sided ones
(Schuirmann 1987, doi:10.1007/BF01068419). docs/method.md has the simulated error rates.
"""

import functools
import itertools
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Array = np.ndarray[Any, np.dtype[np.float64]]
Result = Literal["better", "worse", "same", "undecided"]
"""`better` and `worse`: a confirmed difference above the threshold. `same`: any difference is within the threshold.
`undecided`: all else."""

LOOKS = (4, 6, 8, 10, 14, 20, 30)
"""Numbers of runs a side after which the readings are looked at."""
_WHOLE = {6: 0.0024, 8: 0.0045, 10: 0.0045, 14: 0.0045, 20: 0.0045, 30: 0.0045}
_SPLIT = {4: 1 / 70, 8: 0.002, 10: 0.002, 14: 0.002, 20: 0.002, 30: 0.0027}
"""One-sided level of each look. `_SPLIT`: if the first eight readings of a metric fall into two halves far apart. That
does not depend on which side they are of, so both may spend 2.5 %."""
_APART = 0.5
"""Halves are far apart if the gap between them is at least this share of the larger range within one."""
_LEVEL = 0.025
"""For each direction, over all looks of a comparison."""
_EARLY = 0.75
"""The first look of one of several comparisons that can show anything has at most this part of its level."""
_LATE = LOOKS[-3], LOOKS[-1]
"""Its later looks."""
_SAME, _SAME_LATER = {4: 1 / 70}, 0.005
"""Level of each one-sided test of `same`: at the first look, and at each later one; 4.4 % in sum."""
SHARE, FAILURES = 0.02, 0.1
"""The smallest change that is better or worse: of the typical run, and of the share of failed runs."""
TOLERANCE = 0.03
"""`same`: the typical run changed by less than this share."""
RISK = 0.05
"""The chance that a change in `rare` of the runs shows in none of them."""
_MOST = 2520
"""All relabellings are tested if there are no more than this (eight runs a side); else this many are drawn."""
_ROUNDING = 1e-9


@dataclass(frozen=True)
class MetricRule:
    """How one metric is decided."""

    direction: Literal["lower", "higher", "neither"] = "lower"
    """Which way is better; with "neither", each change is worse."""
    floor: float = 0.0
    """Smaller differences, in the unit of the readings, are never a change."""
    share: float = SHARE
    """Smaller changes of the typical run are never a change."""
    failures: bool = False
    """Readings are 1 for a run that failed, and 0 for others."""
    decides: bool = True
    """Whether runs go on until it is decided. Others, such as clocks, are tested apart."""

    @property
    def tolerance(self) -> float:
        """What `same` may differ by, as a share; or by the floor, if that is more."""
        return max(TOLERANCE, self.share)

    @property
    def smallest(self) -> float:
        """The smallest change, on the scale."""
        return FAILURES if self.failures else math.log1p(self.share)

    @property
    def half(self) -> float:
        """The change that a test excludes before a larger one is better or worse."""
        return 0.0 if self.failures else self.smallest / 2

    @property
    def _knee(self) -> float:
        return max(self.floor / self.tolerance, 1e-12)

    def word(self, up: bool) -> Literal["worse", "better"]:
        """The word for a change upwards or downwards."""
        return "better" if self.direction == ("lower", "higher")[up] else "worse"

    def scaled(self, readings: Array) -> Array:
        """Readings as logarithms; below the size of which the floor is the tolerance, in parts of that size."""
        size = np.abs(readings) / self._knee
        logs = np.sign(readings) * np.where(size > 1, 1 + np.log(np.maximum(size, 1)), size)
        return readings if self.failures else logs

    def reading(self, scaled: float) -> float:
        """The reading at a place on the scale."""
        size = math.exp(abs(scaled) - 1) if abs(scaled) > 1 else abs(scaled)
        return scaled if self.failures else math.copysign(self._knee * size, scaled)


@dataclass(frozen=True)
class Decision:
    """The result of one metric after `n` runs a side."""

    result: Result
    n: int
    p: float
    """Of a change, better or worse, among all metrics that are tested together."""


def rare(n: int) -> float:
    """The share of changed runs from which on `n` runs would have shown one, at a risk of 5 %."""
    return 1 - RISK ** (1 / n) if n else 1.0


def fewest_for(share: float) -> int:
    """The fewest runs that show a change in this share of the runs. Raises ValueError."""
    if not rare(LOOKS[-1]) <= share < 1:
        raise ValueError(f"a change in {share:g} of the runs: at most {LOOKS[-1]} show one in {rare(LOOKS[-1]):.3f}")
    return math.ceil(math.log(RISK) / math.log1p(-share) - _ROUNDING)


def turns(members: int, repeat: int, seed: int) -> list[tuple[int, int]]:
    """Who runs in a round, and for which time: a turn per member, in an order that is drawn from look to look.

    Of two members the first eight turns are in one of 70 orders. No round comes after the last look.
    """
    begin, end = next(ends for ends in itertools.pairwise([0, *LOOKS]) if ends[1] >= repeat)
    order = [*range(members)] * (end - begin)
    random.Random(f"{seed} {end}").shuffle(order)
    places = range((repeat - 1 - begin) * members, (repeat - begin) * members)
    return [(order[place], begin + 1 + order[:place].count(order[place])) for place in places]


@dataclass
class Series:
    """The decisions on some metrics, look by look. `better` and `worse` stay; `same` is decided anew."""

    metrics: Sequence[MetricRule]
    fewest: int = LOOKS[0]
    """The fewest runs a side for `same`."""
    changed: dict[int, Decision] = field(default_factory=dict)
    share: float = 1.0
    """The share of the level: 1/m in one of m comparisons that are all decided."""

    def look(self, baseline: Array, candidate: Array) -> list[Decision]:
        """Decide at the next of the LOOKS. Arrays have a row per run, a column per metric; NaN: no reading."""
        n, p = len(baseline), [1.0] * len(self.metrics)
        sides = [(m.scaled(baseline[:, i]), m.scaled(candidate[:, i])) for i, m in enumerate(self.metrics)]
        for decides in (True, False):
            family = [i for i, metric in enumerate(self.metrics) if metric.decides is decides]
            own = spending(self.share) if self.share < 1 else _levels([(*sides[i], self.metrics[i]) for i in family])
            level = own.get(n, 0.0) + _ROUNDING
            readable = [i for i in family if i not in self.changed and _readings(*sides[i]) > 1]
            tests = {(i, up): test for i in readable for up, test in _tests(*sides[i], self.metrics[i]).items()}
            known = -1
            while known < len(self.changed):  # what has changed no longer stands in the way of others
                known = len(self.changed)
                for upwards in (True, False):  # what is worse, then what is better, unless no way is
                    left = {(i, up): test for (i, up), test in tests.items() if i not in self.changed
                            and (up is not (self.metrics[i].direction == "higher")) is upwards}  # fmt: skip
                    for (i, up), value in _step_down(left).items():
                        p[i] = min(p[i], value)
                        above_floor = abs(_mean(candidate[:, i]) - _mean(baseline[:, i])) >= self.metrics[i].floor
                        if value <= level and above_floor and _is_large(*sides[i], self.metrics[i], up, level):
                            self.changed.setdefault(i, Decision(self.metrics[i].word(up), n, value))
        same = [is_same(*sides[i], metric, self.fewest) for i, metric in enumerate(self.metrics)]
        return [self.changed.get(i, Decision("same" if same[i] else "undecided", n, p[i])) for i in range(len(sides))]


def _levels(sides: Sequence[tuple[Array, Array, MetricRule]]) -> dict[int, float]:
    """The levels of the looks, from the first four readings of both sides, none of which is missing in a split."""
    for first, second, metric in sides:
        low, high = np.split(np.sort(np.r_[first[:4], second[:4]]), 2)
        if high[0] - low[-1] >= _APART * max(np.ptp(low), np.ptp(high)) and high.mean() - low.mean() >= metric.smallest:
            return _SPLIT
    return _WHOLE


@functools.cache
def spending(share: float) -> dict[int, float]:
    """The levels of the looks of one of several comparisons (Lan and DeMets 1983, doi:10.1093/biomet/70.3.659): most at
    the first look that can show a change, the rest at two late ones, because many would get too little."""
    left = share * _LEVEL
    for n in LOOKS:
        p = 1 / len(relabellings(n))
        if p <= _EARLY * left + _ROUNDING:
            first, rest = math.floor(_EARLY * left / p + _ROUNDING) * p, [look for look in _LATE if look > n]
            return {n: first} | {look: (left - first) / len(rest) for look in rest}
    return {}


def _tests(first: Array, second: Array, metric: MetricRule) -> dict[bool, Array]:
    """For a change upwards and downwards the larger of two statistics, for each relabelling: of mean ranks, which shows
    a change of the typical run, and of means, which shows rare ones. Ranks scatter as much as the readings, so that
    small differences have small statistics in both."""
    pooled = _pooled(first, second)
    known = np.sort(pooled[np.isfinite(pooled)])
    ranks = (np.searchsorted(known, pooled, "left") + np.searchsorted(known, pooled, "right")).astype(float)
    ranks[~np.isfinite(pooled)] = math.nan
    ranks *= np.nanstd(pooled) / (np.nanstd(ranks) or 1.0)
    both = statistic(pooled, metric), statistic(ranks, metric)
    return {True: np.maximum(*both), False: -np.minimum(*both)}


def _is_large(first: Array, second: Array, metric: MetricRule, up: bool, level: float) -> bool:
    """Whether the mean change is large enough, and more than half as large by a test too.

    Without that test, a tiny shift and uneven rare readings could add up.
    """
    sign = 1 if up else -1
    shift = sign * metric.half
    large = sign * (_mean(second) - _mean(first)) >= metric.smallest - _ROUNDING
    return large and _share(_tests(first, second - shift, metric)[up]) <= level


def statistic(readings: Array, metric: MetricRule) -> Array:
    """The difference of means, candidate minus baseline, over its scatter, for each relabelling."""
    seen, labels = np.isfinite(readings), relabellings(len(readings) // 2)
    centred = np.where(seen, readings - _mean(readings), 0.0)
    second = labels[:1].sum(1) if seen.all() else labels @ seen
    first = seen.sum() - second
    with np.errstate(divide="ignore"):
        scale = np.where((first > 0) & (second > 0), np.sqrt(1 / first + 1 / second), 0.0)
    least = metric.smallest / 2  # so small differences never have the largest statistic
    values: Array = labels @ centred * scale / max(math.sqrt((centred**2).sum() / max(seen.sum(), 1)), least)
    return values


@functools.cache
def relabellings(n: int) -> Array:
    """Who could have been the candidate: rows of 0 and 1, the first as observed, for the order of `_pooled`."""
    sizes = np.diff([0, *(look for look in LOOKS if look < n), n]).tolist()
    if math.prod(math.comb(2 * size, size) for size in sizes) > _MOST:
        draw = np.random.default_rng(n).permuted
        observed = [np.repeat([[0.0, 1.0]], size, 1) for size in sizes]
        drawn = [draw(np.repeat(one, _MOST // 2, 0), axis=1) for one in observed]
        mirrored = [1 - np.roll(one, one.shape[1] // 2, 1) for one in drawn]  # the same with the sides swapped
        return np.vstack([np.hstack(rows) for rows in (observed, drawn, mirrored)])
    rows = np.ones((1, 0))
    for size in sizes:
        places = [*itertools.combinations(range(2 * size - 1, -1, -1), size)]
        own = np.zeros((len(places), 2 * size))
        np.put_along_axis(own, np.array(places), 1, axis=1)
        rows = np.hstack([np.repeat(rows, len(own), 0), np.tile(own, (len(rows), 1))])
    return rows


def _pooled(first: Array, second: Array) -> Array:
    """The readings of both sides from look to look; no run changes its place between them."""
    looks = [look for look in LOOKS if look < len(first)]
    return np.concatenate([*itertools.chain(*zip(np.split(first, looks), np.split(second, looks), strict=True))])


def _share(values: Array) -> float:
    """The share of relabellings with a statistic as large as the first."""
    return float(np.mean(values >= values[0] - _ROUNDING))


def _step_down(tests: dict[tuple[int, bool], Array]) -> dict[tuple[int, bool], float]:
    """The p of each test: of the largest statistic among it and all with smaller ones."""
    p = dict[tuple[int, bool], float]()
    for at, one in enumerate(order := sorted(tests, key=lambda one: -tests[one][0])):
        largest = np.max([tests[other] for other in order[at:]], axis=0)
        p[one] = max(float(np.mean(largest >= tests[one][0] - _ROUNDING)), *p.values(), 0.0)
    return p


def is_same(first: Array, second: Array, metric: MetricRule, fewest: int) -> bool:
    """Whether the typical run changed by less than the tolerance, and a change in `rare` of the runs would show."""
    if _readings(first, second) < fewest:
        return False
    if metric.failures:
        return bool(np.nanmin(first) == np.nanmax(first) == np.nanmin(second) == np.nanmax(second))
    limit, level = math.log1p(metric.tolerance), _SAME.get(len(first), _SAME_LATER) + _ROUNDING
    as_if = _pooled(first, second + limit), -_pooled(first, second - limit)
    return abs(_mean(second) - _mean(first)) < limit and all(_share(statistic(one, metric)) <= level for one in as_if)


def interval(first: Array, second: Array, metric: MetricRule, share: float = 1.0) -> tuple[float, float]:
    """The changes of scaled readings that the test of this look does not reject; infinite if it cannot reject any.

    Of readings on two levels, ranks reject nearly every shift. So without a change, those that means do not reject are
    in it too, and it always reaches to the change that was measured.
    """
    n, levels = len(first), [spending(share)] if share < 1 else [_SPLIT, _WHOLE]
    level = max(one.get(n, 0.0) for one in levels) + _ROUNDING
    if n not in LOOKS or _readings(first, second) < 2 or level * len(relabellings(n)) < 1:
        return -math.inf, math.inf
    ends = [_mean(second) - _mean(first)]
    ends += _not_rejected(first, second, level, lambda one, other: _tests(one, other, metric)[True])
    if ends[1] <= metric.half and ends[2] >= -metric.half:
        ends += _not_rejected(first, second, level, lambda one, other: statistic(_pooled(one, other), metric))
    return min(ends), max(ends)


def _not_rejected(
    first: Array, second: Array, level: float, test: Callable[[Array, Array], Array]
) -> tuple[float, float]:
    """The smallest and the largest change that a test for changes upwards, of readings and mirrored ones, allows."""
    ends = list[float]()
    for sign in (1, -1):
        low = float(np.nanmin(sign * second) - np.nanmax(sign * first)) - _ROUNDING
        high = float(np.nanmax(sign * second) - np.nanmin(sign * first))
        while high - low > _ROUNDING:
            middle = (low + high) / 2
            rejected = _share(test(sign * first, sign * second - middle)) <= level
            low, high = (middle, high) if rejected else (low, middle)
        ends.append(sign * low)
    return ends[0], ends[1]


def _readings(first: Array, second: Array) -> int:
    """Readings of the side with fewer."""
    return int(min(np.isfinite(first).sum(), np.isfinite(second).sum()))


def _mean(readings: Array) -> float:
    """The mean; 0 without a reading."""
    return float(np.nanmean(readings)) if np.isfinite(readings).any() else 0.0
