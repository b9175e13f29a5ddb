"""The screen of a search: where runs of ordered sides suggest a step. It asks, and never answers."""

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ..decisions.rule import Array, MetricRule
from .plan import NOT_INSTALLABLE, Run

OUTCOME, ANSWER = "outcome", "answer"
"""What is no number: how a run ended, and the hash of what it printed and wrote."""
NOISY = 2.0
"""A change of fewer standard errors is not suspected."""


@dataclass(frozen=True, order=True)
class Interval:
    """Two sides between which a metric may differ."""

    metric: str
    first: str
    second: str


@dataclass(frozen=True)
class Step:
    """Two sides that differ in a metric."""

    interval: Interval
    first: float | str
    second: float | str
    """Of numbers the middle; of words the only one, or each with its number."""
    n: int
    low: float
    high: float
    """Readings of the second side from the smallest to the largest change that the test does not reject. NaN for words,
    and where no test was made."""

    @property
    def line(self) -> dict[str, Any]:
        """Its line in a table."""
        return {
            "from_version": self.interval.first, "to_version": self.interval.second, "metric": self.interval.metric,
            "from_value": self.first, "to_value": self.second, **self.ratio, "n": self.n,
        }  # fmt: skip

    @property
    def ratio(self) -> dict[str, float | None]:
        """How many times the first side the second is, with its interval; None where the first is no number above 0."""
        first = self.first if isinstance(self.first, float) and self.first > 0 else math.nan
        times = {"ratio": self.second, "low": self.low, "high": self.high}
        return {name: None if math.isnan(first) else float(value) / first for name, value in times.items()}


def word(run: Run, metric: str) -> str | None:
    """The outcome or the answer of a run; None if it has none."""
    if metric == ANSWER:
        return run.answer
    return run.outcome if run.outcome != NOT_INSTALLABLE else None


@dataclass
class Screen:
    """The runs of a screen. Sides are in order; `metrics` are numbers."""

    sides: Sequence[str]
    metrics: Mapping[str, MetricRule]
    runs: Sequence[Run]
    fewest: int
    """Runs of a side, before it counts."""
    skipped: frozenset[str] = frozenset()
    """Sides that cannot be built."""
    _noise: dict[str, float] = field(default_factory=dict)

    @functools.cached_property
    def _by_side(self) -> dict[str, list[Run]]:
        groups: dict[str, list[Run]] = {}
        for run in self.runs:
            groups.setdefault(run.member.side, []).append(run)
        return groups

    def count(self, side: str) -> int:
        """Runs of a side."""
        return len(self._by_side.get(side, ()))

    def tested(self, metric: str) -> list[str]:
        """The sides that have a metric, in order."""
        return [side for side in self.sides if self._words(side, metric)]

    def _words(self, side: str, metric: str) -> list[str] | list[float]:
        runs = self._by_side.get(side, ())
        if metric in self.metrics:
            return [run.values[metric] for run in runs if metric in run.values]
        return [one for run in runs if (one := word(run, metric))]

    def _scaled(self, side: str, metric: str) -> Array:
        return self.metrics[metric].scaled(np.array(self._words(side, metric), float))

    def suspects(self, one: Interval) -> bool:
        """Whether two sides differ by more than the noise of all sides explains; in words, if each has its own."""
        first, second = (self._words(side, one.metric) for side in (one.first, one.second))
        if one.metric not in self.metrics:
            return len({*first}) == len({*second}) == 1 and first[0] != second[0]
        metric, step = self.metrics[one.metric], self.step(one)
        change = abs(float(step.second) - float(step.first))
        error = self._sd(one.metric) * float(np.sqrt(1 / len(first) + 1 / len(second)))
        return change >= metric.floor and self.change(one) >= max(metric.smallest, NOISY * error)

    def step(self, one: Interval) -> Step:
        """What the screen says of two sides, without an interval."""
        words = self._words(one.first, one.metric), self._words(one.second, one.metric)
        if one.metric in self.metrics:
            first, second = (float(np.median(np.array(side, float))) for side in words)
            return Step(one, first, second, min(map(len, words)), math.nan, math.nan)
        return Step(one, str(words[0][0]), str(words[1][0]), min(map(len, words)), math.nan, math.nan)

    def change(self, one: Interval) -> float:
        """The size of a change, on the metric's scale; of words 0 or 1."""
        if one.metric not in self.metrics:
            return float({*self._words(one.first, one.metric)} != {*self._words(one.second, one.metric)})
        return abs(float(self._scaled(one.second, one.metric).mean() - self._scaled(one.first, one.metric).mean()))

    def _sd(self, metric: str) -> float:
        """The standard deviation of the runs of one side, over all sides."""
        if metric not in self._noise:
            groups = [self._scaled(side, metric) for side in self.tested(metric)]
            degrees = sum(len(group) - 1 for group in groups)
            squares = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
            self._noise[metric] = float(np.sqrt(squares / degrees)) if degrees else 0.0
        return self._noise[metric]

    def suspected(self, metric: str, among: Sequence[str]) -> list[Interval]:
        """The narrowest intervals, as far as runs go, inside suspected ones between neighbours of some sides."""
        ends = pairwise(side for side in self.tested(metric) if side in among)
        return [part for one in ends if self.suspects(whole := Interval(metric, *one)) for part in self.parts(whole)]

    def parts(self, one: Interval) -> list[Interval]:
        """The narrowest parts of an interval with a step that may have it: those suspected, else the largest change."""
        middle = self.middle(one)
        if not middle or self.count(middle) < self.fewest:
            return [one]
        halves = [Interval(one.metric, one.first, middle), Interval(one.metric, middle, one.second)]
        chosen = [half for half in halves if self.suspects(half)] or [max(halves, key=self.change)]
        return [part for half in chosen for part in self.parts(half)]

    def middle(self, one: Interval) -> str:
        """The side in the middle of an interval; empty if there is none, or if all have run without this metric."""
        first, second = self.sides.index(one.first), self.sides.index(one.second)
        inside = [side for side in self.sides[first + 1 : second] if side not in self.skipped
                  and (self.count(side) < self.fewest or self._words(side, one.metric))]  # fmt: skip
        return inside[len(inside) // 2] if inside else ""

    def split(self, metric: str) -> Interval:
        """The neighbours before and after which all runs differ most: by their likelihood with one mean, or one share,
        on each side (Page 1957, doi:10.1093/biomet/44.1-2.248)."""
        tested = [side for side in self.tested(metric) if self.count(side) >= self.fewest]
        if len(tested) < 2:
            tested = self.tested(metric)
        if metric in self.metrics:
            groups = [self._scaled(side, metric) for side in tested]
        else:
            last = self._words(tested[-1], metric)[-1]
            groups = [np.array([float(one == last) for one in self._words(side, metric)]) for side in tested]

        cost = _scatter if metric in self.metrics else _surprise
        at = min(range(1, len(tested)), key=lambda at: cost(groups[:at]) + cost(groups[at:]))
        return Interval(metric, tested[at - 1], tested[at])


def _scatter(groups: Sequence[Array]) -> float:
    """The squared deviations from the mean."""
    values = np.concatenate(groups)
    return float(((values - values.mean()) ** 2).sum())


def _surprise(groups: Sequence[Array]) -> float:
    """Minus the logarithm of the likelihood of zeros and ones with their own share."""
    values = np.concatenate(groups)
    share, n = values.mean(), len(values)
    return float(-n * sum(part * np.log(part) for part in (share, 1 - share) if part))


def spread(sides: Sequence[str], most: int) -> list[str]:
    """Up to `most` sides: both ends, and others at even distances."""
    if len(sides) <= most:
        return list(sides)
    places = sorted({round(number * (len(sides) - 1) / (most - 1)) for number in range(most)})
    return [sides[place] for place in places]
