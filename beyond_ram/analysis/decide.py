"""Decide comparisons: pure functions from repeats to results. Method and simulations: docs/method.md."""

import functools
import itertools
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import stdtrit  # scipy.stats takes half a second to import

from ..metrics import METRICS
from ..metrics.base import EXACT
from ..metrics.runs import FAILED
from .noise import NO_SPREAD, Array, Between, Noise, Spread
from .results import FEW, NOISY, OTHER_WORK, SMALL, UNKNOWN, Family, Result
from .thresholds import Threshold, threshold_of

Direction = Literal["lower", "higher", "neither"]

ALPHA = 0.05
"""The largest share of reports that name a difference although there is none."""
LOOKS = (2, 3, 4, 6, 8, 12, 16, 20, 24, 32)
"""Numbers of repeats after which questions are looked at while runs come in."""
LEVEL = 0.95
"""Level of all intervals in tables. An interval is for one comparison and not corrected."""
SESSION_GAP_S = 6 * 3600.0
"""Runs with a longer gap between them belong to two sessions."""
FEWEST_REPEATS = 2
"""Repeats per side that a decision needs."""
# Readings of memory, processors and clocks scatter by at least this share, even if two happen to agree.
_RESOLUTION = 0.001
# Differences that are equal up to rounding.
_SAME = 1e-12


@dataclass(frozen=True)
class SideValues:
    """The repeats of a metric in one cell, ordered by repeat number."""

    values: tuple[float, ...]
    repeats: tuple[int, ...] = ()
    """The number of each repeat; empty for sides that cannot be paired."""
    started_at: tuple[float, ...] = ()
    """Unix time at which each repeat began; empty or NaN if unknown."""
    ended_at: tuple[float, ...] = ()
    unknown: int = 0
    """Finished runs without a value."""


class Repeats:
    """Some lines of table `runs`: what their metrics share is read once."""

    def __init__(self, runs: pd.DataFrame) -> None:
        self._runs = runs
        self._finished = runs["completed_work"].to_numpy(bool) if "completed_work" in runs else None
        self._numbers = runs["rep"].to_numpy() if "rep" in runs else None
        timed = self._numbers is not None and {"started_at", "duration_s"} <= {*runs}
        times = (pd.to_numeric(runs[name]).to_numpy(float) for name in ("started_at", "duration_s") if timed)
        self._times = [*itertools.accumulate(times)]
        """The start of each run, and its end; empty if unknown."""
        self._values: dict[str, Array] = {}

    def values(self, metric: str) -> Array:
        """A metric of each line; NaN if it was not measured."""
        if metric not in self._values:
            self._values[metric] = self._runs[metric].to_numpy(float, na_value=math.nan)
        return self._values[metric]

    def side(self, metric: str) -> SideValues:
        """The values of a metric. Only finished runs count, except for FAILED."""
        values = self.values(metric)
        counted = np.full(len(values), True) if self._finished is None or metric == FAILED else self._finished
        places = np.flatnonzero(counted & ~np.isnan(values))
        unknown = int(counted.sum()) - len(places)
        if self._numbers is None:
            return SideValues(tuple(values[places].tolist()), unknown=unknown)
        order = self._numbers[places].astype(int)
        by_number = np.argsort(order, kind="stable")
        places = places[by_number]
        started, ended = [tuple(time[places].tolist()) for time in self._times] or ((), ())
        return SideValues(tuple(values[places].tolist()), tuple(order[by_number].tolist()), started, ended, unknown)


def side(runs: pd.DataFrame, metric: str) -> SideValues:
    """The values of a metric in some lines of table `runs`."""
    return Repeats(runs).side(metric)


def interleaved(first: SideValues, second: SideValues) -> list[int]:
    """The repeats that form blocks. Empty unless both sides ran in each block, and each block ended before the next
    began.

    Decided from the start and end times of the runs. Runs of one block shared the state of the machine, so they are
    compared in pairs.
    """
    common = sorted(set(first.repeats) & set(second.repeats))
    if len(set(first.repeats)) < len(first.repeats) or len(set(second.repeats)) < len(second.repeats):
        return []
    if len(common) < FEWEST_REPEATS or not (first.started_at and second.started_at):
        return []
    if any(map(math.isnan, (*first.started_at, *first.ended_at, *second.started_at, *second.ended_at))):
        return []
    spans = []
    for repeat in common:
        runs = [(side, side.repeats.index(repeat)) for side in (first, second)]
        spans.append((min(side.started_at[i] for side, i in runs), max(side.ended_at[i] for side, i in runs)))
    return common if all(before[1] <= after[0] for before, after in itertools.pairwise(sorted(spans))) else []


def one_session(first: SideValues, second: SideValues) -> bool:
    """Whether both sides ran in one session. True if their times are unknown."""
    spans = [(min(side.started_at), max(side.ended_at)) for side in (first, second) if side.started_at]
    if len(spans) < 2 or any(map(math.isnan, itertools.chain(*spans))):
        return True
    return max(spans)[0] - min(spans)[1] <= SESSION_GAP_S


@dataclass(frozen=True)
class Question:
    """Two sides of one metric in one cell, the baseline first."""

    baseline: SideValues
    candidate: SideValues
    metric: str
    """A key of the registry. Questions on one metric share their noise."""
    family: Family = "planned"
    """How p is corrected for multiple testing."""
    spread: Spread = NO_SPREAD
    """Spread of the metric between sessions."""
    looked_at: bool = False
    """Whether it is decided at each look while runs come in, until it is decided."""

    @property
    def better(self) -> Direction:
        """The better direction."""
        return METRICS[self.metric].direction

    @property
    def counts(self) -> bool:
        """Whether values are counts. Counts are exact if all repeats agree; readings can agree by chance."""
        return METRICS[self.metric].trust.startswith(EXACT)

    @property
    def unknown(self) -> int:
        """Finished runs of both sides that should have a value and have none."""
        return METRICS[self.metric].required * (self.baseline.unknown + self.candidate.unknown)

    @property
    def smallest(self) -> Threshold:
        """The smallest difference that matters."""
        return threshold_of(self.metric)

    @functools.cached_property
    def as_ratio(self) -> bool:
        """Whether ratios are compared: every value of both sides reaches the floor of ratios."""
        values = (*self.baseline.values, *self.candidate.values)
        return bool(values) and min(values) > 0 and min(values) >= self.smallest.floor

    @functools.cached_property
    def blocks(self) -> list[int]:
        """The repeats that form blocks."""
        return interleaved(self.baseline, self.candidate)

    @property
    def paired(self) -> bool:
        """Whether repeats form blocks."""
        return bool(self.blocks)

    @property
    def between(self) -> tuple[float, float]:
        """How much the effect varies between sessions: variance of its logarithm, and degrees of freedom.

        If the sides ran in two sessions, the mean of each side varies independently.
        """
        if one_session(self.baseline, self.candidate):
            return self.spread.contrast_sd_log**2, self.spread.contrast_degrees
        return 2 * self.spread.mean_sd_log**2, self.spread.mean_degrees

    def scaled(self) -> tuple[Array, Array]:
        """The values to compare, as logarithms if ratios are compared. With blocks, only the repeats that form them."""
        blocks = self.blocks
        sides = []
        for side in (self.baseline, self.candidate):
            used = [v for v, r in zip(side.values, side.repeats, strict=True) if r in blocks] if blocks else side.values
            values = np.asarray(used, float)
            sides.append(np.log(values) if self.as_ratio else values)
        return sides[0], sides[1]


@dataclass(frozen=True)
class ReportedDecision:
    """The answer to a question. Unknown numbers are NaN."""

    baseline: float
    """The mean of the baseline; geometric if ratios are compared."""
    candidate: float
    ratio: float
    """Candidate over baseline; NaN if differences are compared."""
    difference: float
    """Candidate minus baseline; NaN if ratios are compared."""
    low: float
    """Lower end of the interval of the ratio or difference, at LEVEL."""
    high: float
    p: float
    p_corrected: float
    """p corrected over the questions of its family that are decided together: planned ones by Holm, exploratory ones
    by Benjamini and Hochberg. The p of an exact count is 0 or 1 and is not corrected."""
    n: int
    """Repeats of the side with fewer; number of pairs if paired."""
    paired: bool
    exact: bool
    """All repeats of each side agree, and the sides differ by more than the scatter in any other cell of the metric."""
    result: Result
    reason: str
    """Why the result is undecided, or why a metric without a better direction is worse; else empty."""
    confirmed: bool
    """The corrected p is below the level: the sides differ, perhaps by too little to matter."""
    detectable: float
    """The smallest ratio above 1, or difference above 0, that this comparison would have confirmed."""
    strength: float
    """Lower bound of the difference: log of the ratio at the end of the interval nearest to no effect, or 0."""


def differences(first: Array, second: Array) -> Array:
    """One value per pair. Their mean is the second mean minus the first; their scatter is the scatter of that mean.

    For equal numbers of repeats these are plain differences. For unequal numbers they follow Scheffé (1943,
    doi:10.1214/aoms/1177731465), whose method is valid for any two variances.
    """
    if len(first) == len(second):
        return second - first
    sign = 1.0
    if len(second) > len(first):
        first, second, sign = second, first, -1.0
    few, many = len(second), len(first)
    spread = first[:few] * math.sqrt(few / many)
    apart: Array = sign * (second - spread + spread.mean() - first.mean())
    return apart


def decide(compared: Sequence[Question]) -> list[ReportedDecision]:
    """Decide questions together. Questions on one metric share their noise. p-values are corrected by family.

    Repeats are compared in pairs if the times of the runs form blocks, else in order. A question with fewer than
    FEWEST_REPEATS repeats on a side is undecided.
    """
    prepared, pools = _with_p_values(compared)
    for members, noise in pools:
        _widths(members, noise)
    return [one.decision() for one in prepared]


def more_repeats(questions: Sequence[Question]) -> list[float]:
    """Number of further repeats of both sides that each question needs, if effects and noise stay the same.

    0 for a decided question, infinity for one that LOOKS[-1] repeats would not decide.
    """
    prepared, pools = _with_p_values(questions)
    needed = {id(one): float(max(FEWEST_REPEATS - one.n, 0)) for one in prepared}
    for members, noise in pools:
        _widths(members, noise)
        still = [one for one in members if one.decision().result == "undecided"]
        needed |= {id(one): math.inf for one in still}
        for more in range(1, LOOKS[-1]):
            still = [one for one in still if needed[id(one)] == math.inf and one.n + more <= LOOKS[-1]]
            ahead = [replace(one, n=one.n + more) for one in still]
            _widths(ahead, noise)
            needed |= {id(one): float(more) for one, then in zip(still, ahead, strict=True) if then.would_decide()}
    return [needed[id(one)] for one in prepared]


@dataclass(frozen=True)
class Mean:
    """The mean of repeats with its 95 % interval. Both ends are NaN for a single repeat."""

    mean: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0


def arithmetic(values: Sequence[float], *, exact: bool = False) -> Mean:
    """The mean with Student's interval.

    Readings scatter by at least `_RESOLUTION` of their mean, even if they happen to agree; `exact` counts do not.
    """
    sample = np.asarray(values, float)
    mean = float(sample.mean()) if len(sample) else math.nan
    if len(sample) < FEWEST_REPEATS:
        return Mean(mean, n=len(sample))
    least = 0.0 if exact else _RESOLUTION * abs(mean) / math.sqrt(len(sample))
    error = max(float(sample.std(ddof=1)) / math.sqrt(len(sample)), least)
    half = float(stdtrit(len(sample) - 1, (1 + LEVEL) / 2)) * error
    return Mean(mean, mean - half, mean + half, len(sample))


def geometric(values: Sequence[float], spread: Spread = NO_SPREAD) -> Mean:
    """The geometric mean of rates, with Student's interval on their logarithms, because rates scatter in ratios.

    The interval covers other sessions if their `spread` is known, with Satterthwaite's degrees of freedom (1946).
    Raises ValueError if a value is not above 0.
    """
    if not len(values) or min(values) <= 0:
        raise ValueError(f"a geometric mean needs values above 0, not {list(values)}")
    logs = np.log(values)
    mean, n = float(logs.mean()), len(logs)
    if n < FEWEST_REPEATS:
        return Mean(math.exp(mean), n=n)
    within, between = float(logs.var(ddof=1)) / n, spread.mean_sd_log**2
    total = within + between
    degrees = total**2 / (within**2 / (n - 1) + between**2 / spread.mean_degrees) if total else n - 1
    half = float(stdtrit(degrees, (1 + LEVEL) / 2)) * math.sqrt(total)
    return Mean(math.exp(mean), math.exp(mean - half), math.exp(mean + half), n)


def holm(p: Sequence[float]) -> list[float]:
    """p-values corrected by Holm (1979), valid for any dependence between them."""
    order = sorted(range(len(p)), key=p.__getitem__)
    corrected, largest = [math.nan] * len(p), 0.0
    for place, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p) - place) * p[i]))
        corrected[i] = largest
    return corrected


def false_discovery(p: Sequence[float]) -> list[float]:
    """p-values corrected by Benjamini and Hochberg (1995), for independent or positively dependent ones.

    One in twenty confirmed lines is expected to be wrong.
    """
    if not len(p):
        return []
    from scipy.stats import false_discovery_control

    return list(map(float, false_discovery_control(p)))


_CORRECTED: Mapping[Family, Callable[[Sequence[float]], list[float]]] = {
    "planned": holm, "exploratory": false_discovery,
}  # fmt: skip


@dataclass
class _Prepared:
    """A question that is being decided."""

    question: Question
    means: tuple[float, float]
    """On the compared scale."""
    identical: bool
    n: int
    effect: float
    scatter: float = math.nan
    """The larger range of the two sides' repeats."""
    variance: float = math.nan
    between: tuple[float, float] = (0.0, math.inf)
    """Variance of the effect between sessions, on the compared scale, and its degrees of freedom."""
    p: float = math.nan
    p_corrected: float = math.nan
    level: float = math.nan
    """The level that p must be below, given its rank in its family."""
    half: float = math.nan
    half_corrected: float = math.nan
    exact: bool = False

    @property
    def looks_factor(self) -> float:
        """The factor on p that corrects for other looks: the first has half of the level, the others share the rest
        (Bonferroni)."""
        return (2.0 if self.n <= LOOKS[0] else 2.0 * (len(LOOKS) - 1)) if self.question.looked_at else 1.0

    @property
    def drawn(self) -> bool:
        """Whether the question has a p-value and is not an exact count."""
        return not math.isnan(self.p) and not self.exact

    def would_decide(self) -> bool:
        """Whether intervals of these widths around the effect decide the question."""
        if self.question.unknown:
            return False
        covered = [
            self.question.smallest.covers(end, self.means[0], self.question.as_ratio)
            for end in (self.effect - self.half, self.effect, self.effect + self.half)
        ]
        return (covered[0] and covered[2]) or (abs(self.effect) > self.half_corrected and not covered[1])

    def decision(self) -> ReportedDecision:
        low, high = self.effect - self.half, self.effect + self.half
        question, as_ratio = self.question, self.question.as_ratio
        # For exact counts no share is too small: one more request is one more request.
        threshold = replace(question.smallest, share=0.0) if self.exact else question.smallest
        covered = [threshold.covers(one, self.means[0], as_ratio) for one in (low, self.effect, high)]
        result, reason = result_of(self.effect, self.p_corrected, covered, question.better)
        if question.unknown and result != "worse":  # what was not seen may be worse
            runs = question.unknown + len(question.baseline.values) + len(question.candidate.values)
            result, reason = "undecided", UNKNOWN.format(unknown=question.unknown, runs=runs)
        effect = _from_scale(self.effect, as_ratio)
        return ReportedDecision(
            baseline=_from_scale(self.means[0], as_ratio),
            candidate=_from_scale(self.means[1], as_ratio),
            ratio=effect if as_ratio else math.nan,
            difference=math.nan if as_ratio else effect,
            low=_from_scale(low, as_ratio),
            high=_from_scale(high, as_ratio),
            p=self.p,
            p_corrected=self.p_corrected,
            n=self.n,
            paired=question.paired,
            exact=self.exact,
            result=result,
            reason=reason,
            confirmed=self.p_corrected < ALPHA,
            detectable=_from_scale(self.half_corrected, as_ratio),
            strength=strength(low, high, self.means[0], threshold.floor, as_ratio=as_ratio),
        )


def result_of(effect: float, p: float, covered: Sequence[bool], better: Direction) -> tuple[Result, str]:
    """The result of a comparison, and the reason if it is undecided.

    `effect` is the log of a ratio, or a difference. `p` is its corrected p. `covered` says whether the threshold covers
    the interval's low end, the effect, and the high end.
    """
    if math.isnan(p):
        return "undecided", FEW
    if covered[0] and covered[-1]:
        return "same", ""
    if p >= ALPHA:
        return "undecided", NOISY
    if covered[1]:
        return "undecided", SMALL
    if better == "neither":
        return "worse", OTHER_WORK
    return ("better" if (effect < 0) == (better == "lower") else "worse"), ""


def _from_scale(value: float, as_ratio: bool) -> float:
    return value if not as_ratio or math.isnan(value) else math.exp(value) if value < 700 else math.inf


def _with_p_values(questions: Sequence[Question]) -> "tuple[list[_Prepared], list[tuple[list[_Prepared], Noise]]]":
    """The questions with their p-values and levels, and the groups of questions that share their noise."""
    prepared = [_prepared(question) for question in questions]
    pools: dict[Hashable, list[_Prepared]] = {}
    for one in prepared:
        if one.n >= FEWEST_REPEATS:
            pools.setdefault((one.question.metric, one.question.as_ratio), []).append(one)
    judged = [(members, _judge(members)) for members in pools.values()]
    for one in prepared:
        one.p_corrected = one.p
    for family, correct in _CORRECTED.items():
        decided = [one for one in prepared if one.drawn and one.question.family == family]
        for one, p in zip(decided, correct([one.p for one in decided]), strict=True):
            one.p_corrected = min(1.0, p * one.looks_factor)
        _set_levels(decided, family)
    return prepared, judged


def _prepared(question: Question) -> _Prepared:
    first, second = question.scaled()
    n = min(len(first), len(second))
    means = tuple(float(one.mean()) if len(one) else math.nan for one in (first, second))
    # Readings that agree may scatter still; not those that are all 0.
    steady = n >= FEWEST_REPEATS and bool(np.ptp(first) == 0 and np.ptp(second) == 0)
    identical = steady and (question.counts or not (first.any() or second.any()))
    effect = means[1] - means[0]
    one = _Prepared(question, (means[0], means[1]), identical, n, effect)
    if n >= FEWEST_REPEATS:
        one.scatter = float(max(np.ptp(first), np.ptp(second)))
        one.variance = _variance(first, second)
        variance, degrees = question.between
        level = 1.0 if question.as_ratio else max(map(abs, one.means))
        one.between = (variance * level**2, degrees)
        if not question.counts:
            largest = max(np.abs(first).max(), np.abs(second).max())
            one.variance = max(one.variance, 2 * (_RESOLUTION * (1.0 if question.as_ratio else largest)) ** 2)
    return one


def _variance(first: Array, second: Array) -> float:
    """The variance of a pair's difference. Whole numbers can differ by the same amount in every pair and still
    scatter."""
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        return 0.0  # the logarithm's rounding error is not a variance
    apart = differences(first, second)
    return float(apart.var(ddof=1) if np.ptp(apart) > _SAME else first.var(ddof=1) + second.var(ddof=1))


def _judge(members: Sequence[_Prepared]) -> Noise:
    """Set the p-values of one metric's questions. Exact counts are not a sample, so they do not enter the noise."""
    scatter = max((one.scatter for one in members if not one.identical), default=0.0)
    for one in members:
        # Two repeats of a count can agree by chance. So a difference smaller than the scatter elsewhere is not exact.
        one.exact = one.identical and (scatter == 0 or abs(one.effect) > scatter)
        if one.exact:
            one.p = float(one.effect == 0)
    members = [one for one in members if not one.exact]
    n = np.array([one.n for one in members], float)
    variance = np.array([one.variance for one in members])
    noise = Noise(variance, n - 1)
    if members and not noise.pooled:
        # Repeats that happen to agree say nothing about noise. Use the largest variance for them.
        variance = np.where(variance > 0, variance, variance.max())
        for one, value in zip(members, variance, strict=True):
            one.variance = float(value)
    effects = np.array([one.effect for one in members])
    for one, p in zip(members, noise.p(effects, variance, n - 1, n, _between(members)), strict=True):
        one.p = float(p)
    return noise


def _between(members: Sequence[_Prepared]) -> Between:
    variances, degrees = np.array([one.between for one in members]).reshape(-1, 2).T
    return variances, degrees


def _set_levels(decided: Sequence[_Prepared], family: Family) -> None:
    """Set the level of each question of a family. Unconfirmed questions use the level of the first one that failed.

    An interval at this level excludes no effect exactly if the corrected p is below ALPHA.
    """
    confirmed = sum(one.p_corrected < ALPHA for one in decided)
    for place, one in enumerate(sorted(decided, key=lambda one: one.p)):
        if family == "planned":
            one.level = ALPHA / (len(decided) - min(place, confirmed))
        else:
            one.level = ALPHA * (confirmed + (place >= confirmed)) / len(decided)


def _widths(members: Sequence[_Prepared], noise: Noise) -> None:
    """Set the half widths of one metric's intervals: at LEVEL, and at the corrected level."""
    for one in members:
        if one.exact:
            one.half = one.half_corrected = 0.0
    noisy = [one for one in members if one.drawn]
    if not noisy:
        return
    n, variance = np.array([one.n for one in noisy], float), np.array([one.variance for one in noisy])
    level, between = np.full(len(noisy), 1 - LEVEL), _between(noisy)
    corrected = np.minimum(level, [one.level / one.looks_factor for one in noisy])
    plain, strict = (noise.half_width(one, variance, n - 1, n, between) for one in (level, corrected))
    for one, half, half_corrected in zip(noisy, plain, strict, strict=True):
        one.half, one.half_corrected = float(half), float(half_corrected)


def strength(low: float, high: float, baseline: float, floor: float = 0.0, *, as_ratio: bool = True) -> float:
    """Lower bound of the difference: log of the ratio at the end of the interval nearest to no effect.

    0 if the interval contains no effect or is unknown. If `as_ratio`, `low`, `high` and `baseline` are logarithms. Else
    they are plain values, and sizes below `floor` count as `floor`, so that no ratio is infinite.
    """
    if math.isnan(low) or math.isnan(high) or low <= 0 <= high:
        return 0.0
    nearest = low if low > 0 else high
    if as_ratio:
        return abs(nearest)
    least = floor or 1.0
    return abs(math.log(max(baseline + nearest, least) / max(baseline, least)))
