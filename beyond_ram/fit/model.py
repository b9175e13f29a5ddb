"""Kept memory by its parts, and time, at full size from readings of small runs.

The model is a sum of parts that are not negative: constant, per worker (or other factor), per pair of factors. Each may
grow in proportion to the size of the input. Growth may also bend, upwards as `size + bend * size ** 2`, downwards as
`size / (1 - bend * size)`: what the readings cannot tell from a straight line lies in the interval, which so widens
with the distance. So does growth that is rounded up to blocks of a size that they do not exclude. Where they exclude
the straight line, there is no number. An interval has three more sources: the parameters (bootstrap of the residuals),
the noise of another run, and Student's t for few readings.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar, nnls
from scipy.stats import chi2
from scipy.stats import t as student

from .factors import Setting

Array = NDArray[np.float64]
LEVEL = 0.90
# The level for runs that were repeated until their interval was narrow, which otherwise holds too few.
_UNTIL_AGREED = 0.95
# Run-to-run differences that are expected before any was measured, and how many readings that is worth: peaks differ by
# 0.1 % in the median and 9 % at most.
_NOISE, _WORTH = 0.002, 2
# The largest run-to-run difference that was seen: a fall by more is no noise.
_FALL = 0.10
# Bends that growth may have, in units of one over the largest small run, and those that an interval may hold: at 16
# times that run, the outer ones multiply growth by 4 and by 1/8.
_BENDS = (-10, -3, -1, -0.5, -0.25, -0.1, -0.05, 0, 0.05, 0.1, 0.25, 1, 3, 10)
_HELD = (-1.0, 0.25)
# Growth bends if a straight line is excluded at this level. If it is excluded at LEVEL only, more runs decide.
_SURE = 0.99
# Blocks to which memory may be rounded up: how many there are in the largest run. More make no difference.
_IN_BLOCKS = range(1, 34)
# A share of a block that is not yet another one.
_EXACT = 1e-6
# Small sizes whose slope differs by more than this factor from the last one do not count: start-up hides them, or a
# cache fills.
_OTHER = 2.0
# An interval whose ends are further apart than this factor is no prediction.
_WIDEST = 2.0
_DRAWS = 200
_NO, _MAX = "no ", "1 or "
_TIMES = " × "  # noqa: RUF001


@dataclass(frozen=True)
class FitReading:
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


Term = tuple[str, Callable[[Setting], float]]


@dataclass(frozen=True)
class Model:
    """A model that is fitted to readings; `names` are of the factors."""

    names: Sequence[str]
    readings: Sequence[FitReading]
    shrinks: bool = False
    """Whether a value may fall in proportion to a factor (time with workers); otherwise parts only add (memory)."""

    @cached_property
    def _longest(self) -> list[FitReading]:
        """The readings of the setting with the most sizes, by size."""
        return max(_series(self.readings).values(), key=len, default=[])

    @cached_property
    def sizes(self) -> list[float]:
        """The sizes that are used, three or more."""
        slopes, first = _slopes(self._longest), 0
        while len(slopes) - first > 2 and not slopes[-1] / _OTHER < slopes[first] < slopes[-1] * _OTHER:
            first += 1
        every = sorted({reading.size for reading in self.readings})
        return [size for size in every if not slopes or size >= self._longest[first].size]

    @cached_property
    def window(self) -> list[FitReading]:
        return [reading for reading in self.readings if reading.size >= self.sizes[0]]

    @cached_property
    def columns(self) -> list[tuple[Term, bool]]:
        """The parts that may be used, and whether they grow with the size."""
        terms = _terms(self.names, self.readings, self.shrinks)
        # Memory per row never falls with more of a factor: where it seems to, a larger constant part hides growth.
        growing = [term for term in terms if self.shrinks or not term[0].startswith(_NO)] if len(self.sizes) > 1 else []
        return [(term, False) for term in terms if not term[0].startswith(_MAX)] + [(term, True) for term in growing]

    def _rows(self, places: Sequence[tuple[Setting, float]], bend: float = 0.0, block: float = 0.0) -> Array:
        """What each part adds at settings and sizes, a line each, where growth has this bend, or these blocks."""
        terms = np.array([[term[1](setting) for term, _ in self.columns] for setting, _ in places])
        grown = np.array([_grown(size / self.sizes[-1], bend, block) for _, size in places])
        return terms * np.where([grows for _, grows in self.columns], grown[:, None], 1.0)

    @cached_property
    def _observed(self) -> Array:
        return np.array([reading.value for reading in self.window])

    @cached_property
    def _places(self) -> list[tuple[Setting, float]]:
        return [(reading.setting, reading.size) for reading in self.window]

    @cached_property
    def _matrix(self) -> Array:
        return self._rows(self._places, 0.0)

    def _solve(self, rows: Array, observed: Array) -> tuple[Array, float]:
        """Parts that are not negative, by relative least squares, and the sum of squared residuals."""
        scale = rows.max(axis=0)
        scale[scale == 0] = 1
        solved, misfit = nnls(rows / scale / self._observed[:, None], observed / self._observed)
        return solved / scale, float(misfit) ** 2

    def _bent(self, bend: float) -> tuple[Array, float]:
        return self._solve(self._rows(self._places, bend), self._observed)

    @cached_property
    def _straight(self) -> tuple[Array, float]:
        return self._bent(0.0)

    @cached_property
    def freedom(self) -> int:
        """Readings beyond the parts that are used."""
        return max(0, len(self.window) - int(np.count_nonzero(self._straight[0])))

    @cached_property
    def noise(self) -> float:
        """Relative standard deviation of readings around the model, with the prior noise."""
        return math.sqrt((_WORTH * _NOISE**2 + self._straight[1]) / (_WORTH + self.freedom))

    def _quantile(self, level: float) -> float:
        return float(student.ppf((1 + level) / 2, _WORTH + self.freedom))

    @cached_property
    def _best_bend(self) -> tuple[float, float]:
        """The smallest sum of squares, and its bend."""
        squares = [self._bent(bend)[1] for bend in _BENDS]
        place = int(np.argmin(squares))
        around = _BENDS[max(0, place - 1)], _BENDS[min(len(_BENDS) - 1, place + 1)]
        between = minimize_scalar(lambda bend: self._bent(bend)[1], bounds=around, method="bounded")
        return min((squares[place], _BENDS[place]), (float(between.fun), float(between.x)))

    def _allowed(self, level: float) -> float:
        """The sum of squares above which a bend is excluded."""
        least, _ = self._best_bend
        return least + self._quantile(level) ** 2 * (_WORTH * _NOISE**2 + least) / (_WORTH + max(0, self.freedom - 1))

    @cached_property
    def bends(self) -> tuple[float, float]:
        """The smallest and the largest bend that the readings do not exclude."""
        low, high = (self._edge(self._best_bend[1], outermost) for outermost in _HELD)
        return low, high

    @cached_property
    def _blocks(self) -> list[tuple[tuple[float, float], Array, float]]:
        """Ranges of block sizes that give each run the same number of blocks, with their parts and sum of squares."""
        if self.shrinks or len(self.sizes) == 1:
            return []
        edges = sorted({round(size / self.sizes[-1] / number, 12) for size in self.sizes for number in _IN_BLOCKS})
        ranges = [(low, high) for low, high in pairwise(edges) if low >= 1 / _IN_BLOCKS[-1]]
        return [(ends, *self._solve(self._rows(self._places, block=ends[0]), self._observed)) for ends in ranges]

    def _in_blocks(self, setting: Setting, size: float) -> list[float]:
        """The values at a size, with the smallest and the largest blocks of each range that is not excluded."""
        allowed, place = self._allowed(LEVEL), [(setting, size)]
        possible = [(ends, parts) for ends, parts, squares in self._blocks if squares <= allowed]
        blocks = ((block, parts) for (low, high), parts in possible for block in (low, high * (1 - _EXACT)))
        return [float(self._rows(place, block=block)[0] @ parts) for block, parts in blocks]

    def _edge(self, inside: float, outside: float) -> float:
        """The bend between two at which it is excluded."""
        allowed = self._allowed(LEVEL)
        if self._bent(outside)[1] <= allowed:
            return outside
        for _ in range(8):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if self._bent(middle)[1] <= allowed else (inside, middle)
        return inside

    def is_straight(self, level: float) -> bool:
        """Whether the readings allow growth in proportion to the size; the higher the level, the sooner."""
        return self._straight[1] <= self._allowed(level)

    @cached_property
    def _bootstrap(self) -> Array:
        """Parts of readings that differ by the noise, a line each."""
        random = np.random.default_rng(0)
        fitted = self._matrix @ self._straight[0]
        noise = self.noise * random.standard_normal((_DRAWS, len(fitted)))
        return np.array([self._solve(self._matrix, fitted * (1 + one))[0] for one in noise])

    def predict(self, setting: Setting, size: float) -> Prediction:
        """The value of another run of a setting at a size."""
        row = self._rows([(setting, size)], 0.0)[0]
        value = float(row @ self._straight[0])
        spread = self._quantile(LEVEL) * math.hypot(float((self._bootstrap @ row).std()), self.noise * value)
        bent = [float(self._rows([(setting, size)], bend)[0] @ self._bent(bend)[0]) for bend in self.bends]
        # Blocks often divide the sizes, and the value is then at an end of what they allow.
        blocks = self._in_blocks(setting, size)
        low = min([value - math.hypot(spread, max(0.0, value - min(bent))), *(one - spread for one in blocks)])
        high = max([value + math.hypot(spread, max(0.0, max(bent) - value)), *(one + spread for one in blocks)])
        # A larger run keeps at least the memory of a smaller one.
        floor = 0.0 if self.shrinks else min(value, self._reached(setting, size) * (1 - _FALL))
        return Prediction(value, max(floor, low), high)

    def number(self, setting: Setting, size: float) -> Prediction | None:
        """The prediction, if growth may be in proportion to the size, and the interval is narrow."""
        prediction = self.predict(setting, size)
        return prediction if prediction.is_number and self.is_straight(LEVEL) else None

    def _reached(self, setting: Setting, size: float) -> float:
        seen = [one.value for one in self.readings if one.setting == setting and one.size <= size]
        return max(seen, default=0.0)

    def shares(self, setting: Setting, size: float, growing: str) -> dict[str, float]:
        """The parts of the prediction for a setting, largest first; `growing` names the size."""
        shares: dict[str, float] = {}
        values = self._rows([(setting, size)], 0.0)[0] * self._straight[0]
        for (term, grows), value in zip(self.columns, values, strict=True):
            alone = term[0] == "constant" or term[0].startswith(_NO)
            factors = [] if alone else [term[0].removeprefix("any ")]
            name = _TIMES.join([*factors, growing] if grows else factors) or "constant"
            shares[name] = shares.get(name, 0.0) + float(value)
        return {name: shares[name] for name in sorted(shares, key=lambda name: -shares[name]) if shares[name] > 0}

    def doubt(self, growing: str = "the input") -> str | None:
        """Why there is no number, in one line, or None; `growing` names the size."""
        for series in _series(self.readings).values():
            for before, after in pairwise(series):
                if after.value < before.value * (1 - _FALL):
                    fell = f"{before.value / 1e6:,.0f} to {after.value / 1e6:,.0f} MB"
                    grew = f"{before.size:,.0f} to {after.size:,.0f}"
                    return f"memory is not monotone: it fell from {fell} as {growing} grew from {grew}"
        if self.is_straight(_SURE):
            return None
        long = [series for series in _series(self.readings).values() if len(series) > 2]
        added = "; ".join(f"{_sizes(_slopes(series))}{self._at(series[0].setting)}" for series in long)
        slopes = _slopes(self._longest)
        more = {tuple(sorted(slopes)): "more", tuple(sorted(slopes, reverse=True)): "less"}.get(
            tuple(slopes), "unevenly"
        )
        return f"growth bends: per unit of {growing}, each doubling added {more}: {added}"

    def _at(self, setting: Setting) -> str:
        values = " ".join(f"{name}={value}" for name, value in zip(self.names, setting, strict=True))
        return f" at {values}" if values else ""


def measured(values: Sequence[float], repeats: Sequence[Sequence[float]] = ()) -> Prediction:
    """The median of measured runs. Its interval holds all of them, and one more; `repeats` show how runs scatter."""
    squares = sum((value * len(one) / sum(one) - 1) ** 2 for one in repeats for value in one)
    freedom = sum(len(one) - 1 for one in repeats)
    # The noise that is expected counts unless the runs exclude it. Then they were repeated until they agreed.
    level = _UNTIL_AGREED
    if not freedom or squares <= chi2.ppf(LEVEL, freedom) * _NOISE**2:
        squares, freedom, level = squares + _WORTH * _NOISE**2, freedom + _WORTH, LEVEL
    noise = math.sqrt(squares / freedom)
    value = statistics.median(values)
    spread = float(student.ppf((1 + level) / 2, freedom)) * noise * math.sqrt(1 + 1 / len(values)) * value
    return Prediction(value, min(*values, value - spread), max(*values, value + spread))


def _grown(size: float, bend: float, block: float = 0.0) -> float:
    """Growth up to a size, as a multiple of that up to size 1 of a straight line, or rounded up to blocks."""
    if block:
        return math.ceil(size / block - _EXACT)
    return size + bend * size**2 if bend > 0 else size / (1 - bend * size)


def _slopes(series: Sequence[FitReading]) -> list[float]:
    """What each step to the next size adds, per unit of the size."""
    return [(after.value - before.value) / (after.size - before.size) for before, after in pairwise(series)]


def _sizes(values: Sequence[float]) -> str:
    """Bytes in the unit of the largest value."""
    most = max(values, key=abs, default=0.0)
    unit, scale = ("MB", 1e6) if abs(most) >= 1e6 else ("kB", 1e3) if abs(most) >= 1e3 else ("B", 1.0)
    return f"{', '.join(f'{value / scale:.3g}' for value in values)} {unit}"


def _terms(names: Sequence[str], readings: Sequence[FitReading], shrinks: bool) -> list[Term]:
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
            of_factor += [_of(f"{_NO}{name}", place, lambda value: float(value == 0))]
            of_factor += [_of(f"{_MAX}{name}", place, lambda value: max(1.0, value))]
        if shrinks and max(values) > 1:
            of_factor.append(_of(f"1/{name}", place, lambda value: 1 / value if value else 0.0))
        single.append(of_factor)
    pairs = [
        _product(one, other)
        for first, second in combinations(single, 2)
        for one in first
        for other in second
        if not shrinks and not one[0].startswith((_NO, _MAX)) and not other[0].startswith((_NO, _MAX))
    ]
    return [("constant", lambda setting: 1.0), *(term for terms in single for term in terms), *pairs]


def _of(name: str, place: int, function: Callable[[int], float]) -> Term:
    return name, lambda setting: function(setting[place])


def _product(one: Term, other: Term) -> Term:
    return f"{one[0]}{_TIMES}{other[0]}", lambda setting: one[1](setting) * other[1](setting)


def _series(readings: Sequence[FitReading]) -> dict[Setting, list[FitReading]]:
    """The readings of each setting that has several sizes, by size; repeats of a size as their mean."""
    series: dict[Setting, list[FitReading]] = {}
    for setting in dict.fromkeys(reading.setting for reading in readings):
        sizes = sorted({reading.size for reading in readings if reading.setting == setting})
        means = []
        for size in sizes:
            values = [one.value for one in readings if one.setting == setting and one.size == size]
            means.append(FitReading(setting, size, sum(values) / len(values)))
        if len(means) > 1:
            series[setting] = means
    return series
