"""The one place that says better, worse, same, not shown, not enough data: pure functions on values.

Method, limits and what was found by simulation: docs/method.md.
"""

import functools
import itertools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import betaln, gammaln, stdtr, stdtrit

from ..metrics import METRICS
from ..metrics.base import EXACT
from ..metrics.runs import FAILED
from .thresholds import Bound, bound_of

Array = np.ndarray[Any, np.dtype[np.float64]]
Verdict = Literal["better", "worse", "differs", "same", "not shown", "not enough data"]
Holds = Literal["holds", "reached, not shown", "partly", "no", "not shown", "not enough data"]
Direction = Literal["lower", "higher", "neither"]

ALPHA = 0.05
"""At most this share of reports in which nothing differs says any difference."""
LEVEL = 0.95
"""Of every interval that is given: it is for the one comparison, and not corrected."""
AT_LEAST = 2
"""Repeats on each side, below which nothing is decided."""
# Fewer comparisons than this tell nothing of how noise differs among them.
_POOL = 3
# Candidates for the prior degrees of freedom, and for the log of the prior variance around those seen.
_DEGREES = np.array([0.5, 1, 2, 4, 8, 16, 32, 64, 128])
_AROUND, _STEPS = 3.0, 49
# Readings of memory, of processors and of clocks scatter by this share at least, also where two happen to agree.
_RESOLUTION = 0.001
# Differences that are the same but for rounding.
_SAME = 1e-12
# Intervals are known to this share of their width.
_STEP = 1e-12
# Weights of the prior that are less than this change no p-value that is decided on.
_NEGLIGIBLE = 1e-6


@dataclass(frozen=True)
class Side:
    """The repeats of a metric in one cell, in the order of their numbers."""

    values: tuple[float, ...]
    repeats: tuple[int, ...] = ()
    """The number of each; without them the sides are not paired."""
    started_at: tuple[float, ...] = ()
    """Unix time at which each began; empty or NaN where it is not known."""
    ended_at: tuple[float, ...] = ()


def side(runs: pd.DataFrame, metric: str) -> Side:
    """The runs of a cell that have the metric, as lines of table `runs`; of metrics but FAILED those that finished."""
    values = runs[metric].to_numpy(float, na_value=math.nan)
    kept = ~np.isnan(values)
    if "completed_work" in runs and metric != FAILED:
        kept &= runs["completed_work"].to_numpy(bool)
    places = np.flatnonzero(kept)
    if "rep" not in runs:
        return Side(tuple(values[places].tolist()))
    order = runs["rep"].to_numpy()[places].astype(int)
    places = places[np.argsort(order, kind="stable")]
    found, repeats = tuple(values[places].tolist()), tuple(sorted(order.tolist()))
    if not {"started_at", "duration_s"} <= {*runs}:
        return Side(found, repeats)
    starts, took = (pd.to_numeric(runs[name]).to_numpy(float)[places] for name in ("started_at", "duration_s"))
    return Side(found, repeats, tuple(starts.tolist()), tuple((starts + took).tolist()))


def interleaved(first: Side, second: Side) -> list[int]:
    """The repeats that are blocks: run on both sides, and one over before the next begins. None where it is not known.

    They are read off the runs' own times. Runs of one block share what the machine did meanwhile.
    """
    common = sorted(set(first.repeats) & set(second.repeats))
    if len(set(first.repeats)) < len(first.repeats) or len(set(second.repeats)) < len(second.repeats):
        return []
    if len(common) < AT_LEAST or not (first.started_at and second.started_at):
        return []
    if any(map(math.isnan, (*first.started_at, *first.ended_at, *second.started_at, *second.ended_at))):
        return []
    spans = []
    for repeat in common:
        at = [(one, one.repeats.index(repeat)) for one in (first, second)]
        spans.append((min(one.started_at[i] for one, i in at), max(one.ended_at[i] for one, i in at)))
    return common if all(before[1] <= after[0] for before, after in itertools.pairwise(sorted(spans))) else []


@dataclass(frozen=True)
class Question:
    """Two sides of one metric in one cell, the baseline first."""

    baseline: Side
    candidate: Side
    metric: str = ""
    """Of the registry. Questions of one metric share what is known of noise."""
    direction: Direction | None = None
    """Which way is better; the metric's own by default."""
    bound: Bound | None = None
    """What is too little to matter; the metric's own by default."""
    counted: bool | None = None
    """Whether values are exact counts; by default what the registry says of the metric."""

    @property
    def better(self) -> Direction:
        """Which way is better."""
        known = METRICS.get(self.metric)
        return self.direction or (known.direction if known else "neither")

    @property
    def counts(self) -> bool:
        """Whether values are counts, of which repeats that agree are exact; readings may agree by chance."""
        if self.counted is not None:
            return self.counted
        return self.metric in METRICS and METRICS[self.metric].trust.startswith(EXACT)

    @property
    def trivial(self) -> Bound:
        """What is too little to matter."""
        return self.bound or bound_of(self.metric)

    @functools.cached_property
    def as_ratio(self) -> bool:
        """Whether it is a ratio that is compared: every value is large enough that one means something.

        It looks at both sides together, so that which one is the candidate cannot matter.
        """
        values = (*self.baseline.values, *self.candidate.values)
        return bool(values) and min(values) > 0 and min(values) >= self.trivial.floor

    @functools.cached_property
    def blocks(self) -> list[int]:
        """The repeats that are blocks."""
        return interleaved(self.baseline, self.candidate)

    @property
    def paired(self) -> bool:
        """Whether repeats are blocks."""
        return bool(self.blocks)

    def scaled(self) -> tuple[Array, Array]:
        """The values that are compared, as logarithms or as they are; of paired ones the common repeats."""
        blocks = self.blocks
        found = []
        for one in (self.baseline, self.candidate):
            kept = [v for v, r in zip(one.values, one.repeats, strict=True) if r in blocks] if blocks else one.values
            values = np.asarray(kept, float)
            found.append(np.log(values) if self.as_ratio else values)
        return found[0], found[1]


@dataclass(frozen=True)
class Decision:
    """What may be said of a question. Numbers that are not known are NaN."""

    baseline: float
    """The mean of the baseline: geometric where a ratio is compared."""
    candidate: float
    ratio: float
    """Candidate over baseline; NaN where a difference is compared."""
    difference: float
    """Candidate less baseline; NaN where a ratio is compared."""
    low: float
    """The lower end of the interval of the ratio, or of the difference: a 95 % one unless asked otherwise."""
    high: float
    p: float
    p_corrected: float
    """By Holm, over all comparisons that were decided together; of an exact one, which is no draw, as it is."""
    n: int
    """Repeats of the side that has fewer; of paired ones the pairs."""
    paired: bool
    exact: bool
    """Every repeat of each side gave the same, and they differ by more than any other cell of the metric scatters."""
    verdict: Verdict
    matters: bool
    """Whether it differs by more than what is too little to matter."""
    could_see: float
    """The smallest ratio above 1, or difference above 0, that would have been called one here."""
    strength: float
    """How much it differs for sure: the log of the interval's bad end, as a ratio; 0 where it need not differ."""

    @property
    def corrected_ends(self) -> tuple[float, float]:
        """The ends of the interval that is corrected for all comparisons that were decided together."""
        if math.isnan(self.ratio):
            return self.difference - self.could_see, self.difference + self.could_see
        return self.ratio / self.could_see, self.ratio * self.could_see

    def other_way_round(self) -> "Decision":
        """Of a ratio, the baseline over the candidate: a larger one is better where a smaller one was."""
        verdicts: dict[str, Verdict] = {"better": "worse", "worse": "better"}
        return replace(
            self, baseline=self.candidate, candidate=self.baseline, ratio=1 / self.ratio, low=1 / self.high,
            high=1 / self.low, verdict=verdicts.get(self.verdict, self.verdict),
        )  # fmt: skip

    @property
    def worth(self) -> str:
        """The numbers in words: what was found, between what, over how many."""
        if self.n < AT_LEAST:
            return f"{self._effect(self.middle)} (n = {self.n})"
        sure = (
            "the same in every repeat" if self.exact else f"95 % {self._effect(self.low)} to {self._effect(self.high)}"
        )
        return f"{self._effect(self.middle)} ({sure}, n = {self.n})"

    @property
    def middle(self) -> float:
        """The ratio, or the difference."""
        return self.difference if math.isnan(self.ratio) else self.ratio

    def _effect(self, value: float) -> str:
        return f"{value:+,.4g}" if math.isnan(self.ratio) else f"{value:,.3g}"


class Noise:
    """What the comparisons of one metric tell together of the variance of each: it is drawn from a common distribution.

    A scaled inverse chi-square, as in limma (Smyth 2004, doi:10.2202/1544-6115.1027). Its degrees of freedom and its
    scale are not estimated by moments, of which few comparisons give poor ones, but averaged over their likelihood
    F(d, d0), with a prior of 1/(1 + d0)^2 on the degrees: in doubt each comparison stands alone.
    """

    def __init__(self, variances: Array, degrees: Array) -> None:
        seen = variances > 0  # without a logarithm, and no evidence of noise
        logs, own = np.log(variances[seen]), degrees[seen]
        self.pooled = len(logs) >= _POOL
        self.weight, self.prior, self.degrees = np.ones(1), np.ones(1), np.zeros(1)
        if not self.pooled:
            return
        scale = np.linspace(logs.min() - _AROUND, logs.max() + _AROUND, _STEPS)
        d, d0 = own[:, None, None], _DEGREES[None, None, :]
        away = logs[:, None, None] - scale[None, :, None]
        with np.errstate(over="ignore"):
            likely = d / 2 * (np.log(d / d0) + away) - (d + d0) / 2 * np.log1p(d / d0 * np.exp(away))
        summed = (likely - betaln(d / 2, d0 / 2)).sum(0) - 2 * np.log1p(_DEGREES)
        weight = np.exp(summed - summed.max())
        at_scale, at_degree = np.nonzero(weight > _NEGLIGIBLE * weight.sum())
        kept = weight[at_scale, at_degree]
        self.weight, self.prior, self.degrees = kept / kept.sum(), np.exp(scale[at_scale]), _DEGREES[at_degree]

    def p(self, effect: Array, variance: Array, degrees: Array, n: Array) -> Array:
        """Two-sided p of means of n with these variances; of one without any variance NaN."""
        moderated, together = self._moderated(variance, degrees)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.abs(effect)[:, None] / np.sqrt(moderated / n[:, None])
        found: Array = (self.weight * 2 * stdtr(together, -t)).sum(1)
        known: Array = np.where((moderated > 0).all(1), found, math.nan)
        return known

    def _moderated(self, variance: Array, degrees: Array) -> tuple[Array, Array]:
        """The variance of each for each weight of the prior, and the degrees of freedom of both together."""
        own = degrees[:, None]
        together = own + self.degrees
        return (self.degrees * self.prior + own * variance[:, None]) / together, together

    def half(self, level: Array, variance: Array, degrees: Array, n: Array) -> Array:
        """Half the width of the interval outside which p is below `level`.

        It lies between the narrowest and the widest that Student's t gives with a single weight. From there Newton's
        steps on logarithms lead to it, and bisection where a step leaves what is left.
        """
        moderated, together = self._moderated(variance, degrees)
        scale = np.sqrt(np.maximum(moderated, 1e-300) / n[:, None])
        kinds, place = np.unique(self.degrees, return_inverse=True)
        quantiles = -stdtrit(degrees[:, None] + kinds, level[:, None] / 2)[:, place]
        with np.errstate(divide="ignore"):
            ends = np.log(np.maximum(quantiles * scale, 1e-300))
        low, high = ends.min(1), ends.max(1)
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
            done = np.abs(new - middle).max(initial=0.0) < _STEP
            middle = new
            if done:
                break
        found: Array = np.exp(middle)
        return found


def differences(first: Array, second: Array) -> Array:
    """One value a pair, whose mean is that of the second less that of the first, and whose scatter is that mean's.

    With equal numbers the plain differences; with unequal ones those of Scheffé (1943, doi:10.1214/aoms/1177731465),
    which hold however much the two sides' variances differ.
    """
    if len(first) == len(second):
        return second - first
    sign = 1.0
    if len(second) > len(first):
        first, second, sign = second, first, -1.0
    few, many = len(second), len(first)
    spread = first[:few] * math.sqrt(few / many)
    found: Array = sign * (second - spread + spread.mean() - first.mean())
    return found


def decide(questions: Sequence[Question], alpha: float = ALPHA, level: float = LEVEL) -> list[Decision]:
    """Decide questions together: those of one metric share what is known of noise, and all are corrected for all.

    Pairs where the runs' times show that repeats are blocks, else repeats in order. A side with fewer than two repeats
    decides nothing. `level` is that of the intervals, by which something is the same.
    """
    prepared, pools = _with_p(questions)
    _levels(prepared, alpha)
    for members, noise in pools:
        _widths(members, noise, 1 - level)
    return [one.decision(alpha) for one in prepared]


def corrected(questions: Sequence[Question]) -> list[float]:
    """The corrected p-values that `decide` comes to, without its intervals."""
    return [one.p_corrected for one in _with_p(questions)[0]]


@dataclass(frozen=True)
class Middle:
    """The mean of repeats with its 95 % interval; the ends are NaN where one repeat has none."""

    mean: float = math.nan
    low: float = math.nan
    high: float = math.nan
    n: int = 0


def middle(values: Sequence[float], *, counted: bool = False, level: float = LEVEL) -> Middle:
    """Student's interval on the mean. Counts that are the same in every repeat, two or more, are exact.

    Readings scatter by `_RESOLUTION` of their mean at least, also where they happen to agree.
    """
    sample = np.asarray(values, float)
    mean = float(sample.mean()) if len(sample) else math.nan
    if len(sample) < AT_LEAST:
        return Middle(mean, n=len(sample))
    least = 0.0 if counted else _RESOLUTION * abs(mean) / math.sqrt(len(sample))
    half = float(stats.t.ppf((1 + level) / 2, len(sample) - 1) * max(float(stats.sem(sample)), least))
    return Middle(mean, mean - half, mean + half, len(sample))


def geometric(values: Sequence[float]) -> Middle:
    """The geometric mean of rates, and Student's interval on the logarithms: rates scatter in ratios.

    Raises ValueError where a value is not above 0.
    """
    if not len(values) or min(values) <= 0:
        raise ValueError(f"a geometric mean needs values above 0; given: {list(values)}")
    found = middle(np.log(values).tolist(), counted=True)
    return Middle(math.exp(found.mean), math.exp(found.low), math.exp(found.high), found.n)


def holm(p: Sequence[float]) -> list[float]:
    """p-values corrected by Holm (1979): whatever depends on what, at most alpha of all families hold a false one."""
    order = sorted(range(len(p)), key=p.__getitem__)
    corrected, largest = [math.nan] * len(p), 0.0
    for place, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p) - place) * p[i]))
        corrected[i] = largest
    return corrected


@dataclass
class _Prepared:
    """A question while it is decided."""

    question: Question
    paired: bool
    as_ratio: bool
    means: tuple[float, float]
    """On the scale that is compared."""
    identical: bool
    n: int
    effect: float
    scatter: float = math.nan
    """The largest range of one side's repeats."""
    variance: float = math.nan
    p: float = math.nan
    p_corrected: float = math.nan
    level: float = math.nan
    """What p has to be below, at its place in Holm's order."""
    half: float = math.nan
    half_corrected: float = math.nan
    exact: bool = False

    @property
    def drawn(self) -> bool:
        """Whether it has a p-value, and is no exact count."""
        return not math.isnan(self.p) and not self.exact

    def decision(self, alpha: float) -> Decision:
        low, high = self.effect - self.half, self.effect + self.half
        # Of what is known exactly a share is not too little to matter: one request more is one more.
        asked = self.question
        trivial = replace(asked.trivial, share=0.0) if self.exact and asked.bound is None else asked.trivial
        said = verdict(
            self.effect, low, high, self.p_corrected, trivial, asked.better,
            baseline=self.means[0], as_ratio=self.as_ratio, alpha=alpha,
        )  # fmt: skip
        effect = _back(self.effect, self.as_ratio)
        return Decision(
            baseline=_back(self.means[0], self.as_ratio),
            candidate=_back(self.means[1], self.as_ratio),
            ratio=effect if self.as_ratio else math.nan,
            difference=math.nan if self.as_ratio else effect,
            low=_back(low, self.as_ratio),
            high=_back(high, self.as_ratio),
            p=self.p,
            p_corrected=self.p_corrected,
            n=self.n,
            paired=self.paired,
            exact=self.exact,
            verdict=said,
            matters=said in ("better", "worse", "differs")
            and not trivial.holds(self.effect, self.means[0], self.as_ratio),
            could_see=_back(self.half_corrected, self.as_ratio),
            strength=strength(low, high, self.means[0], trivial.floor, as_ratio=self.as_ratio),
        )


def verdict(
    effect: float, low: float, high: float, p: float, trivial: Bound, better: Direction, *,
    baseline: float = 0.0, as_ratio: bool = False, alpha: float = ALPHA,
) -> Verdict:  # fmt: skip
    """What may be said of an effect with its interval and its corrected p: logarithms of ratios, or differences."""
    if math.isnan(p):
        return "not enough data"
    if all(trivial.holds(end, baseline, as_ratio) for end in (low, high)):
        return "same"
    if p >= alpha:
        return "not shown"
    if better == "neither":
        return "differs"
    return "better" if (effect < 0) == (better == "lower") else "worse"


def _back(value: float, as_ratio: bool) -> float:
    return value if not as_ratio or math.isnan(value) else math.exp(value) if value < 700 else math.inf


def _with_p(questions: Sequence[Question]) -> "tuple[list[_Prepared], list[tuple[list[_Prepared], Noise]]]":
    """Questions with their p-values, and those that share their noise, with it."""
    prepared = [_prepared(question) for question in questions]
    pools: dict[Hashable, list[_Prepared]] = {}
    for one in prepared:
        if one.n >= AT_LEAST:
            pools.setdefault((one.question.metric, one.as_ratio), []).append(one)
    judged = [(members, _judge(members)) for members in pools.values()]
    decided = [one for one in prepared if one.drawn]
    for one in prepared:
        one.p_corrected = one.p
    for one, p in zip(decided, holm([one.p for one in decided]), strict=True):
        one.p_corrected = p
    return prepared, judged


def _prepared(question: Question) -> _Prepared:
    first, second = question.scaled()
    n = min(len(first), len(second))
    means = tuple(float(one.mean()) if len(one) else math.nan for one in (first, second))
    identical = question.counts and n >= AT_LEAST and bool(np.ptp(first) == 0 and np.ptp(second) == 0)
    effect = means[1] - means[0]
    one = _Prepared(question, question.paired, question.as_ratio, (means[0], means[1]), identical, n, effect)
    if n >= AT_LEAST:
        one.scatter = float(max(np.ptp(first), np.ptp(second)))
        one.variance = _variance(first, second)
        if not question.counts:
            largest = max(np.abs(first).max(), np.abs(second).max())
            one.variance = max(one.variance, 2 * (_RESOLUTION * (1.0 if question.as_ratio else largest)) ** 2)
    return one


def _variance(first: Array, second: Array) -> float:
    """Of the difference of a pair. Whole numbers may differ by the same in every pair and scatter all the same."""
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        return 0.0  # and not that of a rounded logarithm
    apart = differences(first, second)
    return float(apart.var(ddof=1) if np.ptp(apart) > _SAME else first.var(ddof=1) + second.var(ddof=1))


def _judge(members: Sequence[_Prepared]) -> Noise:
    """Give one metric's questions their p-values. What is exact is no draw, and tells nothing of the others' noise."""
    scatter = max((one.scatter for one in members if not one.identical), default=0.0)
    for one in members:
        # Two repeats of a count may agree by chance: one that differs by less than others scatter is not exact.
        one.exact = one.identical and (scatter == 0 or abs(one.effect) > scatter)
        if one.exact:
            one.p = float(one.effect == 0)
    members = [one for one in members if not one.exact]
    n = np.array([one.n for one in members], float)
    variance = np.array([one.variance for one in members])
    noise = Noise(variance, n - 1)
    if members and not noise.pooled:
        # Nothing says how noisy one is whose repeats happen to agree: as noisy as the noisiest.
        variance = np.where(variance > 0, variance, variance.max())
        for one, known in zip(members, variance, strict=True):
            one.variance = float(known)
    for one, p in zip(members, noise.p(np.array([o.effect for o in members]), variance, n - 1, n), strict=True):
        one.p = float(p)
    return noise


def _levels(prepared: Sequence[_Prepared], alpha: float) -> None:
    """The level of each question by Holm: of what is not shown that of the first that is not.

    So an interval at this level holds no difference just where the corrected p is `alpha` or more.
    """
    decided = sorted((one for one in prepared if one.drawn), key=lambda one: one.p)
    shown = sum(one.p_corrected < alpha for one in decided)
    for place, one in enumerate(decided):
        one.level = alpha / (len(decided) - min(place, shown))


def _widths(members: Sequence[_Prepared], noise: Noise, outside: float) -> None:
    """The intervals of one metric's questions, which leave `outside` out, and their width at the corrected level."""
    for one in members:
        if one.exact:
            one.half = one.half_corrected = 0.0
    known = [one for one in members if one.drawn]
    if not known:
        return
    n, variance = np.array([one.n for one in known], float), np.array([one.variance for one in known])
    level = np.full(len(known), outside)
    plain = noise.half(level, variance, n - 1, n)
    strict = noise.half(np.minimum(level, [one.level for one in known]), variance, n - 1, n)
    for one, half, half_corrected in zip(known, plain, strict, strict=True):
        one.half, one.half_corrected = float(half), float(half_corrected)


def strength(low: float, high: float, baseline: float, floor: float = 0.0, *, as_ratio: bool = True) -> float:
    """How much two sides differ for sure, as the log of a ratio: at the end of the interval that is nearest to none.

    `low`, `high` and `baseline` are logarithms, or of a difference the values themselves; then sizes below `floor`
    count as that, so that a ratio to nothing is not endless. 0 where the interval holds no difference, or is not known.
    """
    if math.isnan(low) or math.isnan(high) or low <= 0 <= high:
        return 0.0
    bad = low if low > 0 else high
    if as_ratio:
        return abs(bad)
    least = floor or 1.0
    return abs(math.log(max(baseline + bad, least) / max(baseline, least)))


def holds(decision: Decision, claimed: float) -> Holds:
    """Whether a published ratio is reached, of which a larger one is better.

    `holds` where the bad end of the corrected interval reaches it; `reached, not shown` where the middle does and the
    bad end does not; `partly` where it is better for sure, by more than what is too little to matter, and less than
    claimed for sure; `no` where it is less than claimed for sure, and so much better it is not. What is none of these
    is `not shown`. One run a side is not enough.
    """
    low, high = decision.corrected_ends
    found = held(decision.ratio, low, high, claimed)
    # Of a claim of any gain at all, none is what does not hold.
    if found not in ("partly", "no") and not (found == "holds" and claimed == 1):
        return found
    shown = decision.verdict in ("better", "worse", "differs") and decision.ratio > 1
    return found if found == "holds" and shown else "partly" if shown else "no"


# Means of logarithms do not come back exactly.
_ROUNDING = 1e-9


def held(middle: float, low: float, high: float, claimed: float, *, higher: bool = True, none: float = 1.0) -> Holds:
    """The rule of `holds` for any number with an interval, where `none` is what there is without any gain."""
    if math.isnan(middle) or math.isnan(low) or math.isnan(high):
        return "not enough data"
    bad, good = (low, high) if higher else (-high, -low)
    middle, claimed, none = (middle, claimed, none) if higher else (-middle, -claimed, -none)
    slack = _ROUNDING * max(abs(claimed), 1e-300)
    if bad >= claimed - slack:
        return "holds"
    if middle >= claimed - slack:
        return "reached, not shown"
    if good >= claimed - slack:
        return "not shown"
    return "partly" if bad > none else "no"


def selected(names: Sequence[str], values: Sequence[float]) -> tuple[str, str]:
    """The one of several that has the largest value, and what may be said of it: that it is so of those run here.

    Raises ValueError where there is none.
    """
    known = [(value, name) for name, value in zip(names, values, strict=True) if not math.isnan(value)]
    if not known:
        raise ValueError("nothing to select from")
    return max(known)[1], f"largest of {len(known)} run here" if len(known) > 1 else "no other was run here"
