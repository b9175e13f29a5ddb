"""Error rates of the rule, from whole campaigns: `python -m beyond_ram.decisions.simulate` prints them as CSV.

Three metrics decide: memory, another one that follows it, and failed runs.
"""

import argparse
import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .rule import LOOKS, Array, Decision, Metric, Series, rare, turns

Noise = Callable[[np.random.Generator], Array]
RUNS = 2 * LOOKS[-1]
PLACES = np.arange(RUNS)
METRICS = (Metric(), Metric(), Metric(failures=True))


def gauss(sd: float) -> Noise:
    return lambda g: 1 + sd * g.standard_normal(RUNS)


def levels(*sizes: float, p: Sequence[float]) -> Noise:
    return lambda g: g.choice(sizes, RUNS, p=p) * gauss(0.001)(g)


def period(runs: int) -> Noise:
    return lambda g: np.where(PLACES % runs < runs / 2, 1.0, 3.0)


def dependent(g: np.random.Generator) -> Array:
    """By 0.8 from run to run."""
    values = g.standard_normal(RUNS)
    for place in PLACES[1:]:
        values[place] = 0.8 * values[place - 1] + 0.6 * values[place]
    return np.asarray(1 + 0.05 * values)


def carried(g: np.random.Generator) -> Array:
    """Nine in ten runs undo what the run before left behind."""
    return np.where(np.cumsum(g.random(RUNS) < 0.9) % 2, 3.0, 1.0) * gauss(0.001)(g)


NOISES: dict[str, Noise] = {"constant": gauss(0.001)} | {f"Gauss {sd} %": gauss(sd / 100) for sd in (1, 2, 5, 15)}
NOISES |= {"lognormal 0.5": lambda g: np.exp(gauss(0.5)(g)), "Pareto 2": lambda g: 1 + g.pareto(2, RUNS)}
NOISES |= {"autocorrelated": dependent, "drifts by 10 %": lambda g: (1 + 0.1 * PLACES / RUNS) * gauss(0.001)(g)}
NOISES |= {f"two levels, p = {p}": levels(1, 3, p=(1 - p, p)) for p in (0.5, 0.1, 0.35, 0.75, 0.9)}
CHANGED = [*NOISES][:10]
NOISES |= {"three levels": levels(1, 1.3, 1.6, p=[1 / 3] * 3), "carries state": carried}
NOISES |= {f"period of {runs} runs": period(runs) for runs in (2, 4, 8)}


@dataclass(frozen=True)
class Case:
    """The noise of all runs, and what the candidate changes: `times`, in a `share` of its runs, or its noise."""

    kind: str
    name: str
    noise: Noise = NOISES["constant"]
    times: float = 1.0
    share: float = 1.0
    other: Noise | None = None
    fails: tuple[float, float] = (0.0, 0.0)
    fewest: int = LOOKS[0]


def cases() -> Iterator[Case]:
    yield from (Case("none", name, noise) for name, noise in NOISES.items())
    yield from (Case("none", f"fails by chance, p = {p}", fails=(p, p)) for p in (0.05, 0.2, 0.35, 0.5))
    for name in CHANGED:
        yield from (Case("change", f"{times - 1:+.0%}, {name}", NOISES[name], times) for times in (1.03, 1.1, 1.2))
    for share in (0.1, 0.35, 0.5):
        yield Case("change", f"three times in {share:.0%} of runs", times=3, share=share)
        yield Case("change", f"failures alone, 0 to {share:.0%}", fails=(0, share))
    yield Case("change", "failures alone, 0 to 100%", fails=(0, 1))
    yield Case("change", "spread alone, 2 % to 15 %", NOISES["Gauss 2 %"], other=NOISES["Gauss 15 %"])
    for name in CHANGED[:4]:
        yield Case("same", f"+3 %, {name}", NOISES[name], 1.03)
        for fewest, times in ((4, 1.5), (4, 3), (8, 1.5), (8, 3)):
            text = f"{times} times in {rare(fewest):.0%} of runs, {name}, from {fewest} runs on"
            yield Case("same", text, NOISES[name], times, rare(fewest), fewest=fewest)


def campaign(case: Case, seed: int) -> tuple[list[Decision], int]:
    """The decisions at the end of a campaign, and its runs a side. Order, looks and end are those of the gate."""
    g = np.random.default_rng([46, seed])
    order = np.array([who for repeat in range(1, LOOKS[-1] + 1) for who, _ in turns(2, repeat, seed)])
    sizes = np.where(order == 1, case.other(g), case.noise(g)) if case.other else case.noise(g)
    sizes = sizes * np.where((order == 1) & (g.random(RUNS) < case.share), case.times, 1)
    failed = g.random(RUNS) < np.array(case.fails)[order]
    readings = np.column_stack([sizes, sizes * (1.1 + 0.005 * g.standard_normal(RUNS)), failed])
    readings[failed, :2] = np.nan
    series = Series(METRICS, case.fewest)
    for n in LOOKS:
        decisions = series.look(readings[order == 0][:n], readings[order == 1][:n])
        if not series.open(decisions):
            break
    return decisions, n


def rates(case: Case, campaigns: int) -> dict[str, str | float]:
    """Shares of campaigns in which a metric is worse, or either worse or better, or memory is the same."""
    ended = [campaign(case, seed) for seed in range(campaigns)]
    words = [{one.result for one in decisions} for decisions, _ in ended]
    worse, either = (sum(bool(of & wanted) for of in words) / campaigns for wanted in ({"worse"}, {"worse", "better"}))
    same = sum(decisions[0].result == "same" for decisions, _ in ended) / campaigns
    line: dict[str, str | float] = {"kind": case.kind, "case": case.name, "campaigns": campaigns}
    se = round((either * (1 - either) / campaigns) ** 0.5, 4)
    return line | {"worse": worse, "either": either, "same": same, "se": se, "runs": np.median([n for _, n in ended])}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Print the error rates of the rule as CSV.")
    parser.add_argument("--campaigns", type=int, default=2000, metavar="N", help="of each case (default: 2,000)")
    parser.add_argument("--quick", action="store_const", const=100, dest="campaigns", help="100 of each case")
    asked = parser.parse_args().campaigns
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(rates(Case("", ""), 1))
    for case in cases():
        table.writerow(rates(case, asked).values())
        sys.stdout.flush()
