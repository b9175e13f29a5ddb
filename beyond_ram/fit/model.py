"""Kept memory by its parts, and time, at full size from readings of small runs.

The model is a sum of parts that are not negative: constant, per worker (or other factor), per pair of factors. Each may
grow with the size of the input: per row of it, up to a level, or above a size below which something else hides it. An
interval has four sources: the parameters (bootstrap of the residuals), the noise of another run, what slopes changed
from doubling to doubling, carried on to the target, and Student's t for few readings.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.stats import t as student

from .factors import Setting

Array = NDArray[np.float64]
LEVEL = 0.90
# What is expected before anything was measured, and how many readings that is worth: peaks differ from run to run by
# 0.1 % in the median and 9 % at most; slopes of programs with steady growth changed by a few percent a doubling.
_NOISE, _SLOPE_CHANGE, _WORTH = 0.005, 0.05, 2
# The largest run-to-run difference that was seen: a fall by more is no noise.
_FALL = 0.10
# An interval whose ends are further apart than this factor is no prediction.
_WIDEST = 2.0
_DRAWS = 200
# As many sizes of one setting show two changes of slope after start-up.
_OWN_SIZES = 4
# Fewer sizes are used if that divides the misfit by this much, because settings may reach levels at different sizes.
_BETTER = 3.0
PER_SIZE = "per size"
_TIMES = " × "  # noqa: RUF001


@dataclass(frozen=True)
class Reading:
    """One run: its setting, the size of its input (1 without --grow), and its reading."""

    setting: Setting
    size: float
    value: float


@dataclass(frozen=True)
class Prediction:
    """A value with its 90 % interval."""

    value: float
    low: float
    high: float

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high

    @property
    def is_number(self) -> bool:
        """Whether the interval is narrow enough to call it a prediction."""
        return self.low > 0 and self.high <= _WIDEST * self.low


@dataclass(frozen=True)
class Part:
    """Maximum contribution of a part of the model within the runs."""

    of: str
    growth: str
    """How it grows with the input: not (empty), per row of it, up to a size, or above one."""
    value: float


Term = tuple[str, Callable[[Setting], float]]
Shape = tuple[str, Callable[[float], float]]


@dataclass(frozen=True)
class Model:
    """A model that is fitted to readings; `names` are of the factors."""

    names: Sequence[str]
    readings: Sequence[Reading]
    shrinks: bool = False
    """Whether a value may fall in proportion to a factor (time with workers); otherwise parts only add (memory)."""

    shared: int = 3
    """Number of sizes in use, from the largest down, of those that several runs have. Start-up hides the effect of
    small ones."""

    @cached_property
    def sizes(self) -> list[float]:
        """The sizes that are used."""
        every = sorted({reading.size for reading in self.readings})
        shared = [size for size in every if sum(reading.size == size for reading in self.readings) > 1]
        shared = shared if len(shared) >= self.shared else every
        return [size for size in every if size >= shared[-self.shared :][0]]

    @cached_property
    def window(self) -> list[Reading]:
        return [reading for reading in self.readings if reading.size >= self.sizes[0]]

    @cached_property
    def columns(self) -> list[tuple[Term, Shape]]:
        """The parts that may be used."""
        terms, sizes = _terms(self.names, self.readings, self.shrinks), self.sizes
        single = [term for term in terms if _TIMES not in term[0]]
        columns: list[tuple[Term, Shape]] = [(term, ("", lambda size: 1.0)) for term in terms]
        if len(sizes) == 1:
            return columns
        columns += [(term, (PER_SIZE, lambda size: size / sizes[-1])) for term in terms]
        for knot in sizes[1:-1]:
            columns += [(term, _up_to(knot)) for term in single]
            columns += [(terms[0], _above(knot))] if self._is_shared(knot) else []
        return columns

    def _is_shared(self, size: float) -> bool:
        """Whether runs of several settings go beyond a size."""
        return len({reading.setting for reading in self.readings if reading.size > size}) > 1

    def _row(self, setting: Setting, size: float) -> Array:
        return np.array([term[1](setting) * shape[1](size) for term, shape in self.columns])

    @cached_property
    def _matrix(self) -> Array:
        return np.array([self._row(reading.setting, reading.size) for reading in self.window])

    @cached_property
    def _scale(self) -> Array:
        scale: Array = np.abs(self._matrix).max(axis=0)
        return np.where(scale > 0, scale, 1.0)

    @cached_property
    def _observed(self) -> Array:
        return np.array([reading.value for reading in self.window])

    def _solve(self, observed: Array) -> Array:
        """Parts that are not negative, by relative least squares."""
        weights = 1 / self._observed
        solved: Array = nnls(self._matrix / self._scale * weights[:, None], observed * weights)[0]
        return solved / self._scale

    @cached_property
    def _fitted(self) -> Array:
        return self._solve(self._observed)

    @cached_property
    def freedom(self) -> int:
        """Readings beyond the parts that are used."""
        return max(0, len(self.window) - int(np.count_nonzero(self._fitted)))

    @cached_property
    def repeat_noise(self) -> float:
        """Relative standard deviation of repeats, with the prior noise."""
        squares, freedom = 0.0, 0
        for reading in dict.fromkeys((one.setting, one.size) for one in self.readings):
            values = np.array([one.value for one in self.readings if (one.setting, one.size) == reading])
            squares += float(((values / values.mean() - 1) ** 2).sum())
            freedom += len(values) - 1
        return math.sqrt((_WORTH * _NOISE**2 + squares) / (_WORTH + freedom))

    @cached_property
    def noise(self) -> float:
        """Relative standard deviation of readings around the model, with the prior noise."""
        residuals = self._matrix @ self._fitted / self._observed - 1
        return math.sqrt((_WORTH * _NOISE**2 + float(residuals @ residuals)) / (_WORTH + self.freedom))

    @cached_property
    def _bootstrap(self) -> Array:
        """Parts of readings that differ by the noise, a line each."""
        random = np.random.default_rng(0)
        fitted = self._matrix @ self._fitted
        return np.array(
            [self._solve(fitted * (1 + self.noise * random.standard_normal(len(fitted)))) for _ in range(_DRAWS)]
        )

    def slope_change(self, setting: Setting) -> float:
        """Change of slopes per doubling, as a share, beyond noise: of the setting from four sizes on, else of all."""
        own = [reading for reading in self.readings if reading.setting == setting]
        has_own = len({reading.size for reading in own}) >= _OWN_SIZES
        changes = _slope_changes(own if has_own else self.readings, self.repeat_noise)
        return math.sqrt((_WORTH * _SLOPE_CHANGE**2 + sum(changes)) / (_WORTH + len(changes)))

    def predict(self, setting: Setting, size: float) -> Prediction:
        """The value of another run of a setting at a size."""
        row, most = self._row(setting, size), self.sizes[-1]
        value = float(row @ self._fitted)
        drift = 0.0
        if size > most:
            added = float((row - self._row(setting, most)) @ self._fitted)
            drift = self.slope_change(setting) * added * _carried(size / most)
        spread = float((self._bootstrap @ row).std())
        quantile = float(student.ppf((1 + LEVEL) / 2, _WORTH + self.freedom))
        width = quantile * math.hypot(spread, self.noise * value, drift)
        # A larger run keeps at least the memory of a smaller one.
        floor = 0.0 if self.shrinks else min(value, self._reached(setting, size) * (1 - _FALL))
        return Prediction(value, max(floor, value - width), value + width)

    def _reached(self, setting: Setting, size: float) -> float:
        seen = [one.value for one in self.readings if one.setting == setting and one.size <= size]
        return max(seen, default=0.0)

    @cached_property
    def parts(self) -> list[Part]:
        """The parts that are used, largest first, with what each adds at most within the runs."""
        added = self._fitted * self._scale
        used = sorted(map(int, np.flatnonzero(added)), key=lambda place: -added[place])
        return [Part(self.columns[place][0][0], self.columns[place][1][0], float(added[place])) for place in used]

    def shares(self, setting: Setting, size: float, growing: str) -> dict[str, float]:
        """The parts of the prediction for a setting, largest first; `growing` names the size."""
        shares: dict[str, float] = {}
        for (term, shape), value in zip(self.columns, self._row(setting, size) * self._fitted, strict=True):
            alone = term[0] == "constant" or term[0].startswith("no ")
            factors = [] if alone else [term[0].removeprefix("any ")]
            if shape[0].startswith("up to"):
                factors.append(f"a level of {growing}")
            elif shape[0]:
                factors.append(growing)
            name = _TIMES.join(factors) or "constant"
            shares[name] = shares.get(name, 0.0) + float(value)
        return {name: shares[name] for name in sorted(shares, key=lambda name: -shares[name]) if shares[name] > 0}


def fitted(names: Sequence[str], readings: Sequence[Reading], *, shrinks: bool = False) -> Model:
    """The model of all sizes that it describes: three, or the last two where three do not fit."""
    three, two = (Model(names, readings, shrinks, shared) for shared in (3, 2))
    return two if two.noise * _BETTER < three.noise else three


def doubts(readings: Sequence[Reading]) -> str | None:
    """Why growth is not understood, in one line: a larger input kept less. None where nothing speaks against it."""
    for series in _series(readings).values():
        for before, after in pairwise(series):
            if after.value < before.value * (1 - _FALL):
                fell = f"{before.value / 1e6:,.0f} to {after.value / 1e6:,.0f} MB"
                grew = f"{before.size:,.0f} to {after.size:,.0f}"
                return f"memory is not monotone: it fell from {fell} as the input grew from {grew}"
    return None


def _terms(names: Sequence[str], readings: Sequence[Reading], shrinks: bool) -> list[Term]:
    """1, each factor, whether it is above 0 if it can be 0, and products of two factors."""
    settings = list(dict.fromkeys(reading.setting for reading in readings))
    single: list[list[Term]] = []
    for place, name in enumerate(names):
        values = {setting[place] for setting in settings}
        if len(values) < 2:
            continue
        of_factor = [_of(name, place, float)]
        if 0 in values:
            of_factor += [_of(f"any {name}", place, lambda value: float(value > 0))]
            of_factor += [_of(f"no {name}", place, lambda value: float(value == 0))]
        if shrinks and max(values) > 1:
            of_factor.append(_of(f"1/{name}", place, lambda value: 1 / value if value else 0.0))
        single.append(of_factor)
    pairs = [
        _product(one, other)
        for first, second in combinations(single, 2)
        for one in first
        for other in second
        if not shrinks and not one[0].startswith("no ") and not other[0].startswith("no ")
    ]
    return [("constant", lambda setting: 1.0), *(term for terms in single for term in terms), *pairs]


def _of(name: str, place: int, function: Callable[[int], float]) -> Term:
    return name, lambda setting: function(setting[place])


def _product(one: Term, other: Term) -> Term:
    return f"{one[0]}{_TIMES}{other[0]}", lambda setting: one[1](setting) * other[1](setting)


def _up_to(knot: float) -> Shape:
    return f"up to {knot:,.0f}", lambda size: min(size, knot) / knot


def _above(knot: float) -> Shape:
    return f"above {knot:,.0f}", lambda size: max(0.0, size - knot) / knot


def _series(readings: Sequence[Reading]) -> dict[Setting, list[Reading]]:
    """The readings of each setting that has several sizes, by size; repeats of a size as their mean."""
    series: dict[Setting, list[Reading]] = {}
    for setting in dict.fromkeys(reading.setting for reading in readings):
        sizes = sorted({reading.size for reading in readings if reading.setting == setting})
        means = []
        for size in sizes:
            values = [one.value for one in readings if one.setting == setting and one.size == size]
            means.append(Reading(setting, size, sum(values) / len(values)))
        if len(means) > 1:
            series[setting] = means
    return series


def _slope_changes(readings: Sequence[Reading], noise: float) -> list[float]:
    """Squared relative changes of slope at the end of each series, less what noise alone gives."""
    changes = []
    for series in _series(readings).values():
        slopes, errors = [], []
        for before, after in pairwise(series):
            span = after.size - before.size
            slopes.append((after.value - before.value) / span)
            errors.append(noise * math.hypot(before.value, after.value) / span)
        for place in range(max(1, len(slopes) - 2), len(slopes)):
            last, variance = slopes[place], errors[place - 1] ** 2 + errors[place] ** 2
            if last > 2 * errors[place]:  # otherwise no growth was measured
                changes.append(max(0.0, (last - slopes[place - 1]) ** 2 - variance) / last**2)
    return changes


def _carried(times: float) -> float:
    """By how much a change of slope per doubling moves the mean slope up to a target that is `times` as far.

    Slopes are a random walk over doublings; a change at 2^j counts for the share of the way that is left after it.
    """
    steps = math.ceil(math.log2(times)) if times > 1 else 0
    shares = [(times - 2**step) / (times - 1) for step in range(steps)]
    return math.sqrt(sum(share**2 for share in shares))
