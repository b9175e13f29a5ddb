"""Two sides compared by the rule of decision: numbers, and words such as how a run ended."""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..decisions.rule import LOOKS, Array, Decision, MetricRule, Series, interval
from .plan import Run
from .screen import Interval, Step, word

_WORD = MetricRule("neither", failures=True)


@dataclass(frozen=True)
class Pair:
    """Two sides that are compared by fresh runs, and the metrics that are asked about."""

    name: str
    first: str
    second: str
    metrics: tuple[str, ...]
    share: float
    fewest: int = LOOKS[0]
    """Runs of each before it can be the same."""


def decide(pair: Pair, runs: Sequence[Run], metrics: Mapping[str, MetricRule], n: int) -> dict[str, Decision]:
    """The decisions after `n` runs of each side: of each number, and of each word that runs gave, `METRIC WORD`."""
    columns, decisions = _columns(pair, runs, metrics), list[Decision]()
    series = Series([rule for rule, *_ in columns.values()], pair.fewest, share=pair.share)
    for look in (look for look in LOOKS if look <= n and columns):
        sides = zip(*((first[:look], second[:look]) for _, first, second in columns.values()), strict=True)
        decisions = series.look(*map(np.column_stack, sides))
    return dict(zip(columns, decisions, strict=bool(decisions)))


def metric_in(name: str, metrics: Mapping[str, MetricRule]) -> str:
    """The metric of a decision: a number's own name, and what `METRIC WORD` begins with."""
    return name if name in metrics else name.partition(" ")[0]


def _columns(
    pair: Pair, runs: Iterable[Run], metrics: Mapping[str, MetricRule]
) -> dict[str, tuple[MetricRule, Array, Array]]:
    """What is compared in a pair, with the readings of both sides."""
    every = list(runs)
    sides = [[run for run in every if run.member.side == side] for side in (pair.first, pair.second)]
    columns = dict[str, tuple[MetricRule, Array, Array]]()
    for name in pair.metrics:
        if name in metrics:
            first, second = (np.array([run.values.get(name, math.nan) for run in side]) for side in sides)
            if np.isfinite(first).any() and np.isfinite(second).any():
                columns[name] = metrics[name], first, second
            continue
        words = [[word(run, name) for run in side] for side in sides]
        different = {one for one in itertools.chain(*words) if one}
        if len(different) > max(1, sum(map(len, words)) // 2):
            continue  # nearly each run has its own
        for value in sorted(different)[: 1 if len(different) == 2 else None]:  # the other one says the same
            first, second = (np.array([math.nan if one is None else float(one == value) for one in side])
                             for side in words)  # fmt: skip
            columns[f"{name} {value}"] = _WORD, first, second
    return columns


def steps(
    pair: Pair, runs: Sequence[Run], metrics: Mapping[str, MetricRule], decisions: Mapping[str, Decision]
) -> list[Step]:
    """The steps between the sides of a pair, one for each metric that changed."""
    changed = {name: one for name, one in decisions.items() if one.result in ("better", "worse")}
    names = {metric_in(name, metrics): name for name in reversed(changed)}
    columns, made = _columns(pair, runs, metrics) if changed else {}, list[Step]()
    for name in (name for name in pair.metrics if name in names):
        interval, n = Interval(name, pair.first, pair.second), changed[names[name]].n
        if name in metrics:
            rule, old, new = columns[name]
            first, second, low, high = means(rule, old[:n], new[:n], pair.share)
            made.append(Step(interval, first, second, n, low, high))
        else:
            sides = ([run for run in runs if run.member.side == side][:n] for side in (pair.first, pair.second))
            before, after = (_words(word(run, name) for run in side) for side in sides)
            made.append(Step(interval, before, after, n, math.nan, math.nan))
    return made


def means(metric: MetricRule, first: Array, second: Array, share: float = 1.0) -> list[float]:
    """The means of both sides on the metric's scale, and the second at both ends of its interval, as readings."""
    scaled = [metric.scaled(side) for side in (first, second)]
    known = [side[np.isfinite(side)] for side in scaled]
    one, other = (float(side.mean()) if len(side) else math.nan for side in known)
    low, high = interval(scaled[0], scaled[1], metric, share)
    if math.isfinite(low) and not any(map(np.ptp, known)):
        low = high = other - one
    return [float(f"{metric.reading(mean):.9g}") if math.isfinite(mean) else math.nan  # logarithms round
            for mean in (one, other, one + low, one + high)]  # fmt: skip


def _words(words: Iterable[str | None]) -> str:
    """The words of a side; several with the number of each, the most frequent first."""
    numbers = Counter(filter(None, words)).most_common()
    return " or ".join(f"{one} ({number})" if len(numbers) > 1 else one for one, number in numbers)
