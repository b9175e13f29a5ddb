"""Simulated programs, fitted by the policy as shipped: how often there is a number, and whether the interval holds.

`python -m tests.fit.simulated` writes the table of docs/measured/fit-simulated.
"""

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from beyond_ram.fit.answer import answer
from beyond_ram.fit.factors import FactorPlan, InputGrowth
from beyond_ram.fit.runs import FitRun, FitRuns
from beyond_ram.fit.small_runs import DesignPoint

VARIED = {"workers": (0, 2, 4)}
FIRST, LARGEST, TIMES = 6_250, 100_000, 16
# Relative standard deviations of a program's runs, drawn evenly in the logarithm; a run in a hundred keeps 9 % more.
NOISE = (0.002, 0.0005, 0.02)
OUTLIER, OUTLIERS = 0.09, 0.01
MB = 1e6
# Numbers are expected of linear growth; small runs show how growth bends; or they end before it does.
LINEAR, BENT, LATE = "linear", "bends", "later"
# Programs without a size of the input: each run is at full size.
FULL = "none"
Random = np.random.Generator
Kept = Callable[..., float]
"""Memory by rows and the setting."""


def _even(random, low, high):
    """A number drawn evenly in the logarithm."""
    return math.exp(random.uniform(math.log(low), math.log(high)))


def _noise(random):
    middle, low, high = NOISE
    return float(np.clip(middle * math.exp(random.standard_normal()), low, high))


def _grown(shape, random, per_worker=0.3):
    """A constant part, one per worker, and growth of a shape, which adds 20 to 300 MB up to the largest run.

    In a share of the programs the growth is per worker too.
    """
    start, each, full = _even(random, 30, 300) * MB, _even(random, 5, 60) * MB, _even(random, 20, 300) * MB
    by_workers = random.random() < per_worker
    return lambda rows, n: start + each * n + full * shape(rows / LARGEST) / shape(1) * (1 + n if by_workers else 1)


def _power(exponent):
    return lambda random: _grown(lambda x: x**exponent, random)


def _tables(factor):
    """A table that grows by a factor when it is full."""

    def program(random):
        first = random.uniform(0, 1)
        return _grown(lambda x: factor ** math.ceil(math.log(x, factor) + first), random)

    return program


def _knee(low, high, slope):
    """Growth whose slope is multiplied at a size; 1 is the largest run."""

    def program(random):
        at, times = _even(random, low, high), random.uniform(*slope)
        return _grown(lambda x: min(x, at) + times * max(0.0, x - at), random)

    return program


def _step(random):
    at, share = _even(random, 0.06, 1), random.uniform(0.3, 1)
    return _grown(lambda x: x + share * (x > at), random)


def _blocks(times):
    """Growth rounded up to blocks. A block is 5 to 20 % of the target; the target is `times` the largest run."""

    def program(random):
        block = _even(random, 0.05, 0.2) * times
        return _grown(lambda x: block * math.ceil(x / block), random)

    return program


def _max_of_rows_and_workers(random):
    per_row, each = _even(random, 200, 2000), _even(random, 20, 100) * MB
    return lambda rows, workers: 60 * MB + max(per_row * rows, each * workers)


def _rows_per_worker(random):
    start, per_row = _even(random, 30, 300) * MB, _even(random, 200, 2000)
    return lambda rows, workers: start + 20 * MB * workers + per_row * rows / max(1, workers)


def _attack(random):
    return lambda rows, workers: 60 * MB + 10 * MB * workers + 500 * rows + 0.0004 * rows**2


def _quadratic(random):
    share = _even(random, 0.02, 1)
    return _grown(lambda x: x + share * x**2, random)


def _of_one_part(random):
    """Linear growth, and a part per worker that bends."""
    start, per_row, full = _even(random, 30, 300) * MB, _even(random, 200, 2000), _even(random, 20, 100) * MB
    return lambda rows, workers: start + per_row * rows + full * workers * (rows / LARGEST) ** 1.3


def _largest_of_two_phases(random):
    """A phase with a large constant part hides one that grows."""
    hidden = _even(random, 0.1, 0.9)
    return _grown(lambda x: max(x, hidden), random)


def _mapped(random):
    start, each = _even(random, 30, 300) * MB, _even(random, 5, 60) * MB
    return lambda rows, workers: start + each * workers


def _workers_only(random):
    each, per_row = _even(random, 5, 60) * MB, _even(random, 200, 2000)
    return lambda rows, workers: 30 * MB + (each + per_row * rows) * max(1, workers)


def _copied(random):
    """Objects that workers copy from their parent, and batches on their way."""
    start, each, share = _even(random, 30, 300) * MB, _even(random, 5, 60) * MB, random.uniform(0.1, 0.5)
    per_row, per_item = _even(random, 200, 2000), _even(random, 1e3, 2e4)
    return lambda rows, workers, batch: (
        start + each * workers + per_row * rows * (1 + share * workers) + per_item * batch * max(1, 2 * workers)
    )


def _saturating(random):
    at = _even(random, 0.3, 10)
    return _grown(lambda x: x / (1 + x / at), random)


@dataclass(frozen=True)
class Family:
    """A kind of program."""

    name: str
    program: Callable[[Random], Kept]
    growth: str = BENT
    varied: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: VARIED)
    times: int = TIMES
    noise: float | None = None
    """The standard deviation of runs; None draws one for each program."""


FAMILIES = (
    Family("rows", lambda random: _grown(lambda x: x, random, 0), LINEAR),
    Family("rows x workers", _workers_only, LINEAR),
    Family("rows and rows x workers", lambda random: _grown(lambda x: x, random, 1), LINEAR),
    Family("copied objects and batches", _copied, LINEAR, VARIED | {"batch": (16, 64, 256)}),
    Family("constant per worker (memory-mapped)", _mapped, LINEAR),
    Family("small runs hidden by start-up", lambda random: _grown(lambda x: max(x, 0.1), random), LINEAR),
    Family("60 MB + 500 rows + 0.0004 rows²", _attack),
    Family("rows + share x rows²", _quadratic),
    Family("rows^1.1", _power(1.1)),
    Family("rows^1.2", _power(1.2)),
    Family("rows^1.5", _power(1.5)),
    Family("rows x log rows", lambda random: _grown(lambda x: x * math.log(x * LARGEST), random)),
    Family("rows^0.8", _power(0.8)),
    Family("rows^0.5", _power(0.5)),
    Family("rows + √rows", lambda random: _grown(lambda x: x + math.sqrt(x), random)),
    Family("rows + log rows", lambda random: _grown(lambda x: x + math.log(x * LARGEST) / 3, random)),
    Family("saturating", _saturating),
    Family("a cache that fills", _knee(0.06, 0.5, (0, 0))),
    Family("less per row from a size on", _knee(0.06, 0.5, (0.2, 0.7))),
    Family("more per row from a size on", _knee(0.06, 0.5, (1.5, 4))),
    Family("a step", _step),
    Family("tables that double", _tables(2)),
    Family("tables that grow four times", _tables(4)),
    Family("tables that grow 1.5 times", _tables(1.5)),
    Family("max of rows and workers", _max_of_rows_and_workers),
    Family("rows / workers", _rows_per_worker),
    Family("max of two phases", _largest_of_two_phases),
    Family("rows + workers x rows^1.3", _of_one_part),
    Family("a cache that fills in the last doubling", _knee(0.5, 1, (0, 0)), LATE),
    Family("less per row, from the last doubling on", _knee(0.5, 1, (0.2, 0.7)), LATE),
    Family("more per row, from the last doubling on", _knee(0.5, 1, (1.5, 4)), LATE),
    Family("less per row, beyond the largest run", _knee(1, 8, (0.2, 0.7)), LATE),
    Family("more per row, beyond the largest run", _knee(1, 8, (1.5, 4)), LATE),
    Family("rounded up to blocks, 4 times the largest run", _blocks(4), BENT, times=4),
    Family("rounded up to blocks, 16 times the largest run", _blocks(16), LATE),
    *(Family(f"runs differ by {one:.1%}", _mapped, FULL, noise=one) for one in (0.001, 0.01, 0.02, 0.05, 0.1, 0.3)),
)  # fmt: skip


@dataclass
class Drawn(FitRuns):
    """Runs that are drawn; those of a size take time in proportion to it."""

    kept: Kept = field(default=lambda rows, *setting: 0.0)
    noise: float = 0.0
    random: Random = field(default_factory=np.random.default_rng)

    def make(self, point, about, expected_s, limit_bytes=None):
        seconds = 1 + (point.size or 0) / LARGEST * 10
        return FitRun(point, round(self.reading(point)), 0, seconds, seconds)

    def reading(self, point):
        outlier = 1 + OUTLIER * (self.random.random() < OUTLIERS)
        return self.kept(point.size or 0, *point.setting) * outlier * (1 + self.noise * self.random.standard_normal())


def fitted(family, seed):
    """The answer for a program of a family, and what its settings keep at full size."""
    random = np.random.default_rng([seed, FAMILIES.index(family)])
    target = None if family.growth == FULL else family.times * LARGEST
    grown = InputGrowth("rows", round(FIRST * random.uniform(0.7, 1)), target) if target else None
    plan = FactorPlan(("true",), family.varied, grown)
    noise = _noise(random) if family.noise is None else family.noise
    runs = Drawn(plan, budget_s=600, kept=family.program(random), noise=noise, random=random)
    result = answer(runs, 1 << 40, LARGEST if target else None)
    return result, [runs.reading(DesignPoint(line.setting, target)) for line in result.lines]


def judged(family, programs):
    """The line of a family: its settings, those with a number, and what they keep at full size."""
    lines = []
    for seed in range(programs):
        result, kept = fitted(family, seed)
        lines += [(line, at_full_size) for line, at_full_size in zip(result.lines, kept, strict=True)]
    numbers = [(line.memory, size) for line, size in lines if line.memory]
    return {
        "family": family.name,
        "growth": family.growth,
        "programs": programs,
        "settings": len(lines),
        "numbers": len(numbers),
        "inside": sum(memory.holds(size) for memory, size in numbers),
        "above": sum(size > memory.high for memory, size in numbers),
        "below": sum(size < memory.low for memory, size in numbers),
    }


def main(programs="100", out=""):
    lines = []
    for family in FAMILIES:
        lines.append(judged(family, int(programs)))
        print(*lines[-1].values(), sep="\t", flush=True)
    if out:
        pd.DataFrame(lines).to_csv(out, index=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
