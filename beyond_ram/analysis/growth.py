"""Table `growth`: whether memory grows with the input, and how.

Inputs are nested prefixes of one corpus. They share documents, so their scatter accumulates from one to the next.
"""

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
import pandas as pd
from scipy import optimize
from scipy.special import fdtrc, stdtr

from ..metrics import Events, Record
from ..metrics.base import last, readings
from ..units import GB, MB
from .decide import ALPHA, LEVEL, holm, result_of
from .frame import CellValues, Key, Pairs, key, same_but_for, stack_pairs
from .thresholds import GROWN_BYTES, GROWN_SHARE, GROWTH_INPUT_BYTES, Threshold

RunFiles = tuple[Record, Events]
Array = np.ndarray[Any, np.dtype[np.float64]]
Shape = Literal["straight", "levels off", "grows", "flat", "undecided"]
SIZE = "num_files"
"""The axis over which a slope is taken."""
KINDS = ("anon", "file")
_ENOUGH = 3
# Fewer readings than this cannot distinguish a line from a curve.
_BENDS = 5
# Candidate shares of the scatter that comes from single readings. The rest comes from documents.
_SHARES = (0.0, 0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95, 0.99)
# Prior weight of "all scatter accumulates" over any other share. Without it, intervals of few readings were too narrow
# in that case.
_ADDS_UP = 20
# A level starts where the fitted rise is nearly complete: three scales are 95 %.
_SCALES = 3
# A level needs at least one of this many readings.
_SHARE_OF_LEVEL = 4
# The smallest slope that matters, in MB per GB.
SMALLEST = Threshold(least=1000 * GROWN_SHARE, floor=1000 * GROWN_SHARE)
_COMPARED = ("against", "difference_mb_per_gb", "difference_low", "difference_high", "difference_result")
# With fewer readings than _FEW, samples between documents are read too, until there are about _WANTED.
_FEW, _WANTED = 8, 24
COLUMNS = [
    "experiment", "stack", "anon_shape",
    *(f"anon_{what}" for what in ("slope_mb_per_gb", "slope_mb_per_gb_low", "slope_mb_per_gb_high")),
    "anon_level_mb", "anon_rise_mb", "n", "readings", "readings_of", "bytes_in_min", "bytes_in_max", "word_bytes",
    *_COMPARED,
]  # fmt: skip


class SamplesByRun(Protocol):
    """The samples of runs, by the index of the run."""

    def of(self, place: int) -> pd.DataFrame: ...


@dataclass(frozen=True)
class MemoryByInput:
    """Memory of a cell against processed input, in bytes, as means of its repeats. The first point is past one-time
    costs."""

    bytes_in: Array
    memory: Mapping[str, Array]
    """By kind."""
    of: Literal["documents", "samples", "sizes"]
    """Where the points are: within the runs of the largest input (with or without samples between documents), or at
    the ends of runs of several sizes."""
    runs: int
    largest: float
    """The largest input."""
    word_bytes: float = math.nan


def read_closely(records: Sequence[RunFiles], samples: SamplesByRun | None, places: Sequence[int]) -> list[RunFiles]:
    """Some runs. If a run has few readings between documents, readings are added from its samples.

    Within a batch, input is assumed to be processed evenly over time. The memory of each part is its minimum, which is
    held throughout. A run with several processes is not changed.
    """
    return [(records[at][0], _refined(*records[at], samples, at)) for at in places]


def _refined(record: Record, events: Events, samples: SamplesByRun | None, at: int) -> Events:
    own = [event.get("pid") for event in events if event["event"] == "work"]
    progress = [event for event in events if event["event"] == "progress" and event.get("pid") in own]
    if samples is None or not own or not _ENOUGH <= len(progress) < _FEW:
        return events
    table = samples.of(at)
    if table.empty or table["processes"].max() > 1:
        return events
    end = next(event for event in reversed(events) if event["event"] == "work")
    marks = [(event["t_s"], event["bytes_in"]) for event in progress] + [(end["t_s"], record["work"]["bytes_in"])]
    parts = math.ceil(_WANTED / len(progress))
    added: list[Mapping[str, Any]] = []
    for (begin, before), (until, after) in itertools.pairwise(marks):
        for part in range(1, parts):
            edges = [begin + (until - begin) * edge / parts for edge in (part - 0.5, part + 0.5)]
            within = table[table["t_s"].between(*edges)]
            if len(within):
                memory = {f"{kind}_bytes": float(within[f"{kind}_bytes"].min()) for kind in KINDS}
                done = int(before + (after - before) * part / parts)
                added.append({"event": "progress", "pid": own[-1], "bytes_in": done, "sampled": True, **memory})
    return [*events, *added]


def growth(records: Sequence[RunFiles], pairs: Pairs, samples: SamplesByRun | None = None) -> pd.DataFrame:
    """Whether anonymous memory grows with the input: one line per cell without its size, if it ran two sizes or
    has enough readings within a run.

    Over the `n` runs that finished their work. Slopes, in MB per GB with 95 % intervals, are over `readings`: within
    the runs of the largest input, or at the ends of runs of several sizes. `against` is the baseline from the config's
    roles. `difference_mb_per_gb` is how much more this stack grows, paired by document.
    """
    read = list(traces(records, samples))
    table = pd.DataFrame([cell | _line(points) for cell, points in read], columns=None if read else COLUMNS)
    return _compared(table, [points for _, points in read], pairs)


def traces(
    records: Sequence[RunFiles], samples: SamplesByRun | None, of: Collection[Key] | None = None
) -> Iterator[tuple[CellValues, MemoryByInput]]:
    """The cells that have enough readings, or those of them that are in `of`, each with its points."""
    for cell, group in _grouped(records):
        if of is None or key(cell) in of:
            points = trace(read_closely(records, samples, group))
            if points is not None:
                yield cell, points


def _grouped(records: Sequence[RunFiles]) -> Iterator[tuple[CellValues, list[int]]]:
    """The cells without their size, with the indices of their runs."""
    table = pd.DataFrame(
        [
            record["cell"] | {"i": i}
            for i, (record, events) in enumerate(records)
            if record.get("workload", "tokenize") == "tokenize" and record["completed_work"]
            if readings(events, "work")
        ]
    )
    for cell, group in same_but_for(table, SIZE) if SIZE in table else ():
        yield cell, [int(i) for i in group["i"]]


def trace(records: Sequence[RunFiles]) -> MemoryByInput | None:
    """The points of a cell: within the runs of the largest input, else at the ends of all runs.

    None if there are too few readings within them, and fewer than two sizes.
    """
    ends = pd.DataFrame([_end(record, events) for record, events in records])
    largest = [run for run, size in zip(records, ends["bytes_in"], strict=True) if size == ends["bytes_in"].max()]
    within = [_progress(events) for _, events in largest]
    most = float(ends["bytes_in"].max())
    common = sorted(set.intersection(*(set(one.index) for one in within)))[1:]
    sampled = any(event.get("sampled") for _, events in largest for event in events)
    of: Literal["documents", "samples", "sizes"] = "sizes"
    if len(common) > _ENOUGH:
        of = "samples" if sampled else "documents"
    elif ends["bytes_in"].nunique() < 2:
        return None
    if of != "sizes":
        mean = pd.concat([one.loc[common] for one in within]).groupby(level=0).mean()
    else:
        mean = ends.groupby("bytes_in").mean()
    memory = {kind: mean[kind].to_numpy() for kind in KINDS}
    word_bytes = max(_word_bytes(events) for _, events in records)
    return MemoryByInput(
        mean.index.to_numpy(float), memory, of, len(within if of != "sizes" else records), most, word_bytes
    )


def _word_bytes(events: Events) -> float:
    """The mean size of a word; NaN for work that does not count its words."""
    done = last(events, "work")
    return float(done["bytes_in"]) / done["words"] if done.get("words") else math.nan


def _end(record: Record, events: Events) -> dict[str, float]:
    tree = readings(events, "work")[-1]["tree"]
    return {"bytes_in": float(record["work"]["bytes_in"]), **{kind: float(tree[f"{kind}_bytes"]) for kind in KINDS}}


def _progress(events: Events) -> pd.DataFrame:
    """Memory by processed input, as read by the process that did the work."""
    own = [event.get("pid") for event in events if event["event"] == "work"]
    points = {
        int(event["bytes_in"]): {kind: float(event[f"{kind}_bytes"]) for kind in KINDS}
        for event in events
        if event["event"] == "progress" and event.get("pid") in own and "anon_bytes" in event
    }
    return pd.DataFrame.from_dict(points, orient="index", columns=list(KINDS))


def _line(trace: MemoryByInput) -> dict[str, Any]:
    values = trace.memory["anon"] / MB
    grown = judged(trace.bytes_in / GB, values)
    return {
        "anon_shape": grown.shape,
        "anon_slope_mb_per_gb": grown.slope.mean,
        "anon_slope_mb_per_gb_low": grown.slope.low,
        "anon_slope_mb_per_gb_high": grown.slope.high,
        "anon_rise_mb": float(values[-1] - values[0]),
        "anon_level_mb": grown.level_mb,
        "readings": grown.slope.n,
        "n": trace.runs,
        "readings_of": trace.of,
        "bytes_in_min": float(trace.bytes_in[0]),
        "bytes_in_max": trace.largest,
        "word_bytes": trace.word_bytes,
    }


@dataclass(frozen=True)
class Slope:
    """A slope with its 95 % interval, the p of no slope, and the number of readings. NaN if unknown."""

    mean: float
    low: float
    high: float
    p: float
    n: int


@dataclass(frozen=True)
class Judged:
    """How memory grows, and its level."""

    shape: Shape
    slope: Slope
    level_mb: float = math.nan
    """The mean of the later readings, if memory levels off."""


class Scatter:
    """Scatter of readings y at x around a trend. The scatter of documents accumulates; the noise of a reading does not.

    The covariance is (1 - q) times that of a random walk over x, plus q times that of independent readings. A few
    readings say little about q. So results are averaged over the restricted likelihood of q around a line (Patterson
    and Thompson 1971, doi:10.1093/biomet/58.3.545).
    """

    def __init__(self, x: Array, y: Array) -> None:
        self.x, self.y = x - x[0], y
        walk = np.minimum.outer(self.x, self.x) / np.diff(self.x).mean()
        self.turned: list[Array] = []
        likelihoods: list[float] = []
        trend = self.design(self.x)
        # A few readings cannot tell the two apart. Then assume that all scatter accumulates, which gives the wider
        # interval.
        for q in _SHARES if len(x) > _BENDS else _SHARES[:1]:
            # The start of the walk is unknown. The level absorbs any scatter of the first reading.
            factor = np.linalg.cholesky((1 - q) * (walk + 1e-9 * np.eye(len(x))) + q * np.eye(len(x)))
            self.turned.append(factor)
            likelihoods.append(self._likelihood(factor, trend))
        weight = np.exp(np.array(likelihoods) - max(likelihoods))
        weight[0] *= _ADDS_UP
        self.weight: Array = weight / weight.sum()

    def design(self, *columns: Array) -> Array:
        """A design matrix: a level and these columns."""
        return np.column_stack([np.ones(len(self.x)), *columns])

    def _likelihood(self, factor: Array, trend: Array) -> float:
        turned, y = (np.linalg.solve(factor, one) for one in (trend, self.y))
        _, left, rank, _ = np.linalg.lstsq(turned, y, rcond=None)
        squares = max(float(left[0]) if len(left) else 0.0, 1e-300)
        logs = 2 * np.log(np.diag(factor)).sum() + np.linalg.slogdet(turned.T @ turned)[1]
        return float(-(logs + (len(y) - rank) * math.log(squares)) / 2)

    def left(self, design: Array) -> Array:
        """The residual sum of squares of a least-squares fit, for each q."""
        squares = []
        for factor in self.turned:
            turned, y = (np.linalg.solve(factor, one) for one in (design, self.y))
            squares.append(float(((y - turned @ np.linalg.lstsq(turned, y, rcond=None)[0]) ** 2).sum()))
        return np.array(squares)

    def better(self, simple: Array, rich: Array, parameters: int) -> float:
        """p of the F test that the rich design, with `parameters` parameters (not all linear), fits no better than
        the simple one."""
        more, less = self.left(simple), np.maximum(self.left(rich), 1e-300)
        degrees, extra = len(self.y) - parameters, parameters - simple.shape[1]
        f = np.maximum(more - less, 0) / extra / (less / degrees)
        return float(self.weight @ fdtrc(extra, degrees, f))

    def slope(self, design: Array, direction: Sequence[float]) -> Slope:
        """A linear combination of a fit's coefficients, averaged over all q."""
        means, errors = [], []
        along, degrees = np.asarray(direction), len(self.y) - design.shape[1]
        for factor in self.turned:
            turned, y = (np.linalg.solve(factor, one) for one in (design, self.y))
            inverse = np.linalg.inv(turned.T @ turned)
            fit = inverse @ turned.T @ y
            squares = float(((y - turned @ fit) ** 2).sum()) / degrees
            means.append(float(along @ fit))
            errors.append(math.sqrt(max(squares, 0.0) * float(along @ inverse @ along)))
        mean, error = np.array(means), np.maximum(np.array(errors), 1e-12 * max(1.0, float(np.abs(means).max())))

        def below(value: float) -> float:
            return float(self.weight @ stdtr(degrees, (value - mean) / error))

        wide = 1e4 * error.max() + float(np.ptp(mean))
        low, high = (
            optimize.brentq(lambda v, at=at: below(v) - at, mean.min() - wide, mean.max() + wide)
            for at in ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
        )
        p_below_zero = below(0.0)
        return Slope(float(self.weight @ mean), low, high, 2 * min(p_below_zero, 1 - p_below_zero), len(self.y))


def judged(x: Array, y: Array) -> Judged:
    """Decide whether memory does not grow, grows in proportion, or rises to a level.

    `x` is the processed input in GB, `y` the memory in MB. Memory `levels off` if a (1 - exp(-x / b)) fits better than
    a straight line (F test), enough readings beyond 3 b no longer rise, and the level is large enough to matter. Memory
    `grows` if the slope is surely above 0, and `straight` if the slope of the later half is too. It is `flat` if the
    interval of the slope, over the input, is within GROWN_BYTES or GROWN_SHARE of the input, else `undecided`.
    """
    if len(x) < _ENOUGH:
        mean = float(np.polyfit(x, y, 1)[0])
        return Judged("undecided", Slope(mean, math.nan, math.nan, math.nan, len(x)))
    if np.ptp(y) == 0:
        return Judged("flat", Slope(0.0, 0.0, 0.0, 1.0, len(x)))
    scatter = Scatter(x, y)
    at = scatter.x
    slope = scatter.slope(scatter.design(at), (0, 1))
    later_half = scatter.design(at, np.maximum(at - at[-1] / 2, 0))
    bends = False
    if len(x) > _BENDS:
        scale = _scale(scatter)
        rising = scatter.design(1 - np.exp(-at / scale))
        bends = all(scatter.better(design, rising, 3) < ALPHA for design in (scatter.design(at), scatter.design()))
        level_mb = _level_mb(x, y, _SCALES * scale) if bends else math.nan
        if (level_mb - y[0]) * MB > GROWN_BYTES:
            return Judged("levels off", slope, level_mb)
    if slope.low > 0:
        goes_on = len(x) > _BENDS and scatter.slope(later_half, (0, 1, 1)).low > 0
        return Judged("straight" if goes_on and not bends else "grows", slope)
    small = max(GROWN_BYTES / MB, GROWN_SHARE * at[-1] * GB / MB)
    return Judged("flat" if max(-slope.low, slope.high) * at[-1] < small else "undecided", slope)


def _level_mb(x: Array, y: Array, risen: float) -> float:
    """The mean from the first reading on that is `risen` GB or more after the start and not below all later ones.

    NaN if too few readings are left.
    """
    first, enough = int(np.searchsorted(x - x[0], risen)), max(_ENOUGH, len(x) // _SHARE_OF_LEVEL)
    while len(x) - first >= enough and y[first] < y[first + 1 :].min():
        first += 1
    return float(y[first:].mean()) if len(y) - first >= enough else math.nan


def _scale(scatter: Scatter) -> float:
    """The scale b for which a (1 - exp(-x / b)) fits the readings best."""

    def left(log_scale: float) -> float:
        return float(
            scatter.weight @ np.log(scatter.left(scatter.design(1 - np.exp(-scatter.x / math.exp(log_scale)))))
        )

    tried = np.log(np.geomspace(np.diff(scatter.x).min() / 3, 3 * scatter.x[-1], 20))
    best = int(np.argmin([left(scale) for scale in tried]))
    around = (tried[max(best - 1, 0)], tried[min(best + 1, len(tried) - 1)])
    return math.exp(float(optimize.minimize_scalar(left, bounds=around, method="bounded", options={"xatol": 0.05}).x))


def _compared(table: pd.DataFrame, traces: Sequence[MemoryByInput], pairs: Pairs) -> pd.DataFrame:
    """The table with each stack's slope compared with its baseline's. Of several baselines, the first."""
    pairs_of: dict[int, tuple[str, Slope]] = {}
    for _, (baseline, _), (first, second) in stack_pairs(table, pairs) if len(table) else ():
        if len(first) == len(second) == 1:
            baseline_at, at = int(first.index[0]), int(second.index[0])
            pairs_of.setdefault(at, (baseline, difference(traces[baseline_at], traces[at])))
    with_p = [at for at, (_, slope) in pairs_of.items() if not math.isnan(slope.p)]
    corrected = dict(zip(with_p, holm([pairs_of[at][1].p for at in with_p]), strict=True))
    columns: dict[str, list[Any]] = {column: [None] * len(table) for column in _COMPARED}
    for at, (baseline, slope) in pairs_of.items():
        covered = [SMALLEST.covers(end, 0.0, False) for end in (slope.low, slope.mean, slope.high)]
        result, _ = result_of(slope.mean, corrected.get(at, math.nan), covered, "lower")
        values = (baseline, slope.mean, slope.low, slope.high, result)
        for column, value in zip(_COMPARED, values, strict=True):
            columns[column][at] = value
    return table.assign(**columns)


def difference(baseline: MemoryByInput, candidate: MemoryByInput) -> Slope:
    """How much more anonymous memory of a candidate grows: the slope of the difference after the same documents."""
    _, first, second = np.intersect1d(baseline.bytes_in, candidate.bytes_in, return_indices=True)
    apart = (candidate.memory["anon"][second] - baseline.memory["anon"][first]) / MB
    if len(first) < _ENOUGH or np.ptp(apart) == 0:
        return Slope(math.nan, math.nan, math.nan, math.nan, len(first))
    scatter = Scatter(candidate.bytes_in[second] / GB, apart)
    return scatter.slope(scatter.design(scatter.x), (0, 1))


def missing_mb(line: Mapping[str, Any]) -> float:
    """How much more text, in MB, a rate of growth needs; 0 if there is enough."""
    first = line.get("bytes_in_min")
    read = float(line["bytes_in_max"]) - (0.0 if first is None or math.isnan(first) else float(first))
    return max(GROWTH_INPUT_BYTES - read, 0.0) / MB
