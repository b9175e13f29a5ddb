"""Simulated reports, from random draws and from recorded runs: how often decisions are wrong, and effects found.

`python -m tests.analysis.simulated` prints the tables of docs/method.md.
"""

import functools
import itertools
import math
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from beyond_ram.analysis.decide import ALPHA, LOOKS, Question, SideValues, _with_p_values, decide, differences
from beyond_ram.analysis.growth import judged
from beyond_ram.analysis.noise import NO_SPREAD, Noise, spreads_of
from beyond_ram.analysis.thresholds import Threshold

NOISE = Path(__file__).parent.parent / "data" / "noise.csv"
SPREAD = Path(__file__).parents[2] / "beyond_ram" / "analysis" / "session_spread.csv"
SPREADS = ("equal", "inverse chi-square", "lognormal", "two kinds")
DIFFERENT = ("better", "worse")


@dataclass(frozen=True)
class Asked(Question):
    """A question with a direction and a threshold of its own."""

    metric: str = "number [x, neither]"
    direction: str = ""
    threshold: Threshold | None = None

    @property
    def better(self):
        return self.direction or super().better

    @property
    def smallest(self):
        return self.threshold or super().smallest


def scatter(spread, cells, rng):
    """Standard deviations of cells with that kind of spread."""
    if spread == "inverse chi-square":
        return np.sqrt(2 / rng.chisquare(2, cells))
    if spread == "lognormal":
        return np.exp(rng.normal(0, 1, cells))
    return np.where(rng.random(cells) < 0.15, 10.0, 1.0) if spread == "two kinds" else np.ones(cells)


def drawn(spread, n, m, cells, rng, *, alike):
    """A report in which nothing differs: its noise model, effects, variances and degrees of freedom."""
    first = scatter(spread, cells, rng)
    second = first if alike else scatter(spread, cells, rng)
    values = [(s * rng.normal(size=n), t * rng.normal(size=m)) for s, t in zip(first, second, strict=True)]
    apart = [differences(*pair) for pair in values]
    variance = np.array([one.var(ddof=1) for one in apart])
    degrees = np.full(cells, min(n, m) - 1.0)
    return Noise(variance, degrees), np.array([one.mean() for one in apart]), variance, degrees


def coverage(spread, n, m, cells, reports, rng, *, alike=True):
    """The share of 95 % intervals that cover the truth, and of reports that confirm any difference."""
    covering, with_alarm = 0, 0
    for _ in range(reports):
        noise, effect, variance, degrees = drawn(spread, n, m, cells, rng, alike=alike)
        p = noise.p(effect, variance, degrees, degrees + 1)
        covering += int((p > 0.05).sum())
        with_alarm += bool(p.min() * cells < ALPHA)
    return covering / (reports * cells), with_alarm / reports


@functools.cache
def noise():
    """Recorded runs: each metric of each cell, with the values of all repeats in order of time."""
    table = pd.read_csv(NOISE).sort_values("rep")
    return [(str(metric), group["value"].to_numpy()) for (_, metric), group in table.groupby(["cell", "metric"])]


def sizes():
    """Numbers of repeats per side for which there are enough runs."""
    return [n for n in (2, 3, 4, 6, 8) if 2 * n <= len(noise()[0][1])]


def sides(n, rng, *, blocked):
    """Two sides of n repeats for each cell and metric. Only permuted labels separate them, so nothing differs.

    Blocked sides pair neighbours in time and permute labels within pairs. All cells use the same pairs.
    """
    at = 2 * rng.choice(len(noise()[0][1]) // 2, n, replace=False)
    blocks, starts = tuple(range(n)), tuple(float(2 * i) for i in range(n))
    ends = tuple(start + 1 for start in starts)
    for metric, values in noise():
        if blocked:
            flips = rng.integers(2, size=n)
            first, second = tuple(values[at + flips]), tuple(values[at + 1 - flips])
            yield metric, SideValues(first, blocks, starts, ends), SideValues(second, blocks, starts, ends)
        else:
            chosen = rng.permutation(values)[: 2 * n]
            yield metric, SideValues(tuple(chosen[:n])), SideValues(tuple(chosen[n:]))


def corrected(questions):
    """The corrected p-values of `decide`, without its intervals, which take most of its time."""
    return [one.p_corrected for one in _with_p_values(questions)[0]]


def differ(questions):
    """Whether a report confirms any difference. Intervals are made only if a p-value is low enough."""
    if all(math.isnan(p) or p >= ALPHA for p in corrected(questions)):
        return False
    return any(one.confirmed and one.result != "same" for one in decide(questions))


def false_alarms(n, reports, rng, *, blocked):
    """The share of reports from recorded runs that confirm a difference although there is none."""
    with_alarm = 0
    for _ in range(reports):
        questions = [Question(*pair, metric) for metric, *pair in sides(n, rng, blocked=blocked)]
        with_alarm += differ(questions)
    return with_alarm / reports


def detected_shares(n, effect, reports, rng, *, blocked):
    """The share of planted effects that are found, by metric. One cell of each report has an effect."""
    hits = {}
    for _ in range(reports):
        pairs = [(metric, pair) for metric, *pair in sides(n, rng, blocked=blocked)]
        planted = int(rng.integers(len(pairs)))
        questions = []
        for i, (metric, (first, second)) in enumerate(pairs):
            factor = 1 + effect if i == planted else 1.0
            more = SideValues(
                tuple(factor * v for v in second.values), second.repeats, second.started_at, second.ended_at
            )
            questions.append(Question(first, more, metric))
        hits.setdefault(pairs[planted][0], []).append(
            corrected(questions)[planted] < ALPHA and decide(questions)[planted].result in DIFFERENT
        )
    return {metric: float(np.mean(each)) for metric, each in sorted(hits.items())}


PLANNED, COMPARED = 12, 58
"""Planned and all comparisons of a default report, without exact counts."""
EFFECTS = (0.05, 0.10, 0.15, 0.20, 0.30, 0.40, 0.50, 0.75, 1.00, 2.00)


def null_report(n, rng, spread):
    """A report in which only the session moves ratios, with some planned questions."""
    lines = [line for _ in range(1 + COMPARED // len(noise())) for line in sides(n, rng, blocked=True)][:COMPARED]
    chosen = set(rng.permutation(COMPARED)[:PLANNED].tolist())
    questions = []
    for place, (metric, first, second) in enumerate(lines):
        metric_spread = spread.get(metric, NO_SPREAD)
        moved = math.exp(rng.normal(0, metric_spread.contrast_sd_log))
        second = replace(second, values=tuple(moved * value for value in second.values))
        family = "planned" if place in chosen else "exploratory"
        questions.append(Question(first, second, metric, family=family, spread=metric_spread))
    return questions


def power(n, reports, rng):
    """The share of planted effects that a planned question finds, by metric; sessions vary as known.

    An effect is found if it moves the ratio out of the corrected interval and beyond the threshold.
    """
    spread = spreads_of(pd.read_csv(SPREAD))
    hits = {}
    for _ in range(reports):
        questions = null_report(n, rng, spread)
        for question, one in zip(questions, decide(questions), strict=True):
            if question.family == "planned" and not math.isnan(one.ratio):
                logs = [abs(math.log(one.ratio) + math.log1p(effect)) for effect in EFFECTS]
                detections = [max(math.log(one.detectable), math.log(1.05)) < log for log in logs]
                hits.setdefault(question.metric, []).append(detections)
    lines = [
        {"metric": metric, "draws": len(each), **dict(zip(EFFECTS, np.mean(each, 0), strict=True))}
        for metric, each in hits.items()
    ]
    return pd.DataFrame(lines).sort_values("metric")


def powers(reports, rng):
    """Power by metric and number of repeats, and the smallest effect found in 80 %."""
    lines = []
    for n in (2, 4, 8):
        for line in power(n, reports, rng).to_dict("records"):
            enough = [effect for effect in EFFECTS if line[effect] >= 0.8]
            found = {"detected_20": line[0.20], "smallest_80": min(enough, default=math.nan), "draws": line["draws"]}
            lines.append({"metric": line["metric"], "n": n, **found})
    return pd.DataFrame(lines).sort_values(["metric", "n"])


def alarms(n, reports, rng, *, moved):
    """The share of reports that confirm a difference where only the session moves ratios, or nothing."""
    spread = spreads_of(pd.read_csv(SPREAD)) if moved else {}
    return float(np.mean([differ(null_report(n, rng, spread)) for _ in range(reports)]))


GROWN = ("straight", "levels off", "flat", "drifting")
"""How simulated memory moves; `drifting` is a random walk without a trend."""
RATE = {"straight": 16_000.0}


def readings_of(kind, n, rng, *, documents=5.0, single=5.0):
    """Text read (GB) and memory (MB) after each of n documents of uneven size, 33 MB in all.

    What a document leaves scatters by `documents` MB and adds up; single readings scatter by `single` MB."""
    x = rng.lognormal(0, 0.6, n).cumsum()
    x *= 0.033 / x[-1]
    steps = np.diff(x, prepend=0) / x[-1] * n
    walk = np.cumsum(np.sqrt(steps) * rng.normal(0, 0.0 if kind == "flat" else documents, n))
    trend = {"straight": RATE["straight"] * x, "levels off": 150 * (1 - np.exp(-8 * x / x[-1]))}.get(kind, 0 * x)
    return x, 100 + trend + walk + rng.normal(0, single, n)


def shapes(kind, n, reports, rng, **scatter):
    """The share of each judged shape, and of 95 % slope intervals that cover the true slope (NaN without one)."""
    judgements = [judged(*readings_of(kind, n, rng, **scatter)) for _ in range(reports)]
    counted = Counter(str(one.shape) for one in judgements)
    truth = RATE.get(kind, 0.0)
    share = float(np.mean([one.slope.low <= truth <= one.slope.high for one in judgements]))
    return {shape: times / reports for shape, times in counted.items()}, share if kind != "levels off" else math.nan


def growths(reports, rng):
    """Print how simulated memory is judged."""
    names = ("straight", "levels off", "grows", "flat", "undecided")
    print(f"memory,readings,documents,single reading,{','.join(names)},intervals that cover the truth")
    scatters = ((5.0, 1.0), (5.0, 5.0), (1.0, 20.0))
    for kind, n, (documents, single) in itertools.product(GROWN, (4, 8, 16, 32), scatters):
        counted, covered_share = shapes(kind, n, reports, rng, documents=documents, single=single)
        shares = ",".join(f"{counted.get(name, 0):.0%}" for name in names)
        print(f"{kind},{n},{documents:.0f} MB,{single:.0f} MB,{shares},{covered_share:.1%}", flush=True)


def looks_alarm(questions, noise, most, reports, rng, *, corrected):
    """The share of reports with any false difference, if undecided questions are repeated at most so often."""
    alarms = 0
    for _ in range(reports):
        values = rng.normal(1e8, noise * 1e8, (questions, 2, most))
        repeats, results = dict.fromkeys(range(questions), 0), ["undecided"] * questions
        for look in (one for one in LOOKS if one <= most):
            repeats |= {at: look for at, result in enumerate(results) if result == "undecided"}
            asked = [
                Asked(
                    *(SideValues(tuple(side[: repeats[at]])) for side in values[at]),
                    looked_at=corrected, direction="lower",
                )
                for at in repeats
            ]  # fmt: skip
            results = [one.result for one in decide(asked)]
        alarms += any(result in DIFFERENT for result in results)
    return alarms / reports


def main():
    """Print the tables of docs/method.md as CSV; those of intervals for each size of report."""
    rng = np.random.default_rng(1)
    print("variances of cells,n,m,comparisons,95 % intervals that cover the truth,reports with a false difference")
    repeats = ((2, 2, True), (2, 2, False), (3, 3, True), (4, 8, False), (8, 8, True))
    for spread, (n, m, alike), cells in itertools.product(SPREADS, repeats, (4, 12, 30)):
        covered_share, alarm_share = coverage(spread, n, m, cells, 400, rng, alike=alike)
        sides_differ = "" if alike else " (sides differ)"
        print(f"{spread}{sides_differ},{n},{m},{cells},{covered_share:.3f},{alarm_share:.3f}", flush=True)
    print("n,blocks,reports with a false difference")
    for n, blocked in itertools.product(sizes(), (True, False)):
        print(f"{n},{'yes' if blocked else 'no'},{false_alarms(n, 1000, rng, blocked=blocked):.1%}", flush=True)
    print(powers(150, rng).to_csv(index=False))
    print("n,sessions,reports,differs")
    for n, moved in itertools.product((2, 4, 8), (False, True)):
        share = alarms(n, 150, rng, moved=moved)
        print(f"{n},{'vary as measured' if moved else 'do not vary'},150,{share:.4f}", flush=True)
    print("questions,noise,repeats,before,now")
    for questions, noise, most in itertools.product((1, 5), (0.05, 0.1), (4, 8, 32)):
        shares = [looks_alarm(questions, noise, most, 400, rng, corrected=now) for now in (False, True)]
        print(f"{questions},{noise},{most},{shares[0]:.4f},{shares[1]:.4f}", flush=True)
    growths(400, rng)


if __name__ == "__main__":
    main()
