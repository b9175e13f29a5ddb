"""Error rates of gates and searches, from whole campaigns: `python -m beyond_ram.measure.simulate` prints them as CSV.

The policies are those of `gate` and `bisect`; only the runs are drawn. Three metrics of a gate decide: memory, another
one that follows it, and failed runs.
"""

import argparse
import csv
import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..decisions.rule import LOOKS, Array, Decision, MetricRule, rare
from .gate import CANDIDATE, FEWEST_SHORT, SHORT_S, GatePolicy, measured
from .plan import COMPLETED, Run
from .screen import OUTCOME
from .search import Search

Noise = Callable[[np.random.Generator], Array]
RUNS = 2 * LOOKS[-1]
PLACES = np.arange(RUNS)
METRICS = {"memory": MetricRule(), "follows": MetricRule(), "failed": MetricRule(failures=True)}


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
BY_CHANCE = (0.05, 0.2, 0.35, 0.5)
SEVERAL = ["Gauss 5 %", "Pareto 2", "two levels, p = 0.5"]
NOISES |= {"three levels": levels(1, 1.3, 1.6, p=[1 / 3] * 3), "carries state": carried}
NOISES |= {f"period of {runs} runs": period(runs) for runs in (2, 4, 8)}


@dataclass(frozen=True)
class Scenario:
    """The noise of all runs, and what the candidate changes: `times`, in a `share` of its runs, or its noise."""

    kind: str
    name: str
    noise: Noise = NOISES["constant"]
    times: float = 1.0
    share: float = 1.0
    other: Noise | None = None
    fails: tuple[float, float] = (0.0, 0.0)
    run_s: float = SHORT_S
    """How long a run takes: of short ones, `same` needs more."""
    cells: int = 1
    """Each with noise of its own. All are changed alike."""


def cases() -> Iterator[Scenario]:
    yield from (Scenario("none", name, noise) for name, noise in NOISES.items())
    yield from (Scenario("none", f"fails by chance, p = {p}", fails=(p, p)) for p in BY_CHANCE)
    yield from (Scenario("none", f"{name}, five cells", NOISES[name], cells=5) for name in SEVERAL)
    for name in CHANGED:
        yield from (Scenario("change", f"{times - 1:+.0%}, {name}", NOISES[name], times) for times in (1.03, 1.1, 1.2))
    for share in (0.1, 0.35, 0.5):
        yield Scenario("change", f"three times in {share:.0%} of runs", times=3, share=share)
        yield Scenario("change", f"failures alone, 0 to {share:.0%}", fails=(0, share))
    yield Scenario("change", "failures alone, 0 to 100%", fails=(0, 1))
    yield Scenario("change", "+20%, Gauss 5 %, five cells", NOISES["Gauss 5 %"], 1.2, cells=5)
    yield Scenario("change", "spread alone, 2 % to 15 %", NOISES["Gauss 2 %"], other=NOISES["Gauss 15 %"])
    for name in CHANGED[:4]:
        yield Scenario("same", f"+3 %, {name}", NOISES[name], 1.03)
        for fewest, times in ((4, 1.5), (4, 3), (8, 1.5), (8, 3)):
            text = f"{times} times in {rare(fewest):.0%} of runs, {name}, from {fewest} runs on"
            run_s = SHORT_S / 2 / FEWEST_SHORT if fewest == FEWEST_SHORT else SHORT_S
            yield Scenario("same", text, NOISES[name], times, rare(fewest), run_s=run_s)


def campaign(case: Scenario, seed: int) -> tuple[dict[tuple[str, str], Decision], int]:
    """The decisions of a whole gate without a budget, by cell and metric, and the most runs a side of a cell."""
    runs, cells = list[Run](), {str(cell): readings(case, [46, seed, cell] if cell else [46, seed])
                                for cell in range(case.cells)}  # fmt: skip
    policy = GatePolicy(dict.fromkeys(cells, "stack"), seed, rules)
    while blocks := policy.next(runs):
        for member, name in [(member, block.name) for block in blocks for member in block.members]:
            number = 1 + sum(run.member == member for run in runs)
            place = sum(run.member.case == member.case for run in measured(runs))
            drawn = cells[member.case][member.side == CANDIDATE][place]
            values = {metric: one for metric, one in zip(METRICS, drawn, strict=True) if np.isfinite(one)}
            runs.append(Run(member, number, name, COMPLETED, values=values, ended_at=case.run_s))
    return {of: one.decision for of, one in policy.decided.items()}, max(run.number for run in measured(runs))


def readings(case: Scenario, seed: list[int]) -> tuple[Array, Array]:
    """What each run of a cell reads if it is the baseline's, and if it is the candidate's: a column per metric."""
    g = np.random.default_rng(seed)
    other, sizes = case.other(g) if case.other else None, case.noise(g)
    changed = np.where(g.random(RUNS) < case.share, case.times, 1)
    chance, follows = g.random(RUNS), 1.1 + 0.005 * g.standard_normal(RUNS)
    both = sizes, (sizes if other is None else other) * changed
    memory = [np.where(chance < fails, np.nan, size) for size, fails in zip(both, case.fails, strict=True)]
    first, second = (np.column_stack([of, of * follows, np.isnan(of)]) for of in memory)
    return first, second


def rules(*sides: Sequence[Run]) -> dict[str, MetricRule]:
    """The metrics that runs of both sides have."""
    names = [{name for run in side for name in run.values} for side in sides]
    return {name: rule for name, rule in METRICS.items() if all(name in own for own in names)}


def rates(case: Scenario, campaigns: int) -> dict[str, str | float]:
    """Shares of campaigns in which a metric is worse, or either worse or better, or memory of a cell is the same."""
    ended = [campaign(case, seed) for seed in range(campaigns)]
    words = [{one.result for one in decisions.values()} for decisions, _ in ended]
    worse, either = (sum(bool(of & wanted) for of in words) / campaigns for wanted in ({"worse"}, {"worse", "better"}))
    same = sum(any(one.result == "same" for (_, name), one in of.items() if name == "memory") for of, _ in ended)
    line: dict[str, str | float] = {"kind": case.kind, "case": case.name, "campaigns": campaigns, "worse": worse}
    line |= {"either": either, "same": same / campaigns, "se": round((either * (1 - either) / campaigns) ** 0.5, 4)}
    return line | {"runs": np.median([n for _, n in ended])}


@dataclass(frozen=True)
class SearchScenario:
    """Ordered sides with one noise. The second half takes `times` the memory; `fails` has the rates of both halves."""

    sides: int
    name: str
    noise: Noise = NOISES["constant"]
    times: float = 1.0
    fails: tuple[float, float] = (0.0, 0.0)

    @property
    def steps(self) -> set[tuple[str, str]]:
        """The true step, if there is one."""
        half = self.sides // 2
        is_step = self.times != 1 or self.fails[0] != self.fails[1]
        return {(f"{half - 1:02}", f"{half:02}")} if is_step else set()


_FOUND = ((1.03, "constant"), (1.2, "Gauss 5 %"), (3, "two levels, p = 0.1"))


def searches() -> Iterator[SearchScenario]:
    for sides in (2, 10, 30):
        yield from (SearchScenario(sides, name, noise) for name, noise in NOISES.items())
        yield from (SearchScenario(sides, f"fails by chance, p = {p}", fails=(p, p)) for p in BY_CHANCE)
        yield from (SearchScenario(sides, f"{times - 1:+.0%}, {name}", NOISES[name], times) for times, name in _FOUND)
        yield from (SearchScenario(sides, f"failures alone, 0 to {p:.0%}", fails=(0, p)) for p in (0.5, 1))


def search(case: SearchScenario, seed: int) -> Search:
    """A whole search, without a budget."""
    g, runs, half = np.random.default_rng([46, seed]), list[Run](), case.sides // 2
    sizes = itertools.chain.from_iterable(case.noise(g) for _ in itertools.count())
    names = [f"{place:02}" for place in range(case.sides)]
    policy = Search(
        "simulated", names, {name: METRICS[name] for name in ("memory", "follows")}, frozenset(), seed, (OUTCOME,)
    )
    while blocks := policy.next(runs):
        for member, name in [(member, block.name) for block in blocks for member in block.members]:
            late, size = int(member.side) >= half, float(next(sizes))
            size, failed = size * (case.times if late else 1), g.random() < case.fails[late]
            values = {"memory": size, "follows": size * (1.1 + 0.005 * g.standard_normal())}
            outcome = "failed" if failed else COMPLETED
            runs.append(Run(member, 0, name, outcome, values={} if failed else values))
    return policy


def search_rates(case: SearchScenario, campaigns: int) -> dict[str, str | float]:
    """Shares of searches with a false step, with the true one, and that say that there is none."""
    ended = [search(case, seed) for seed in range(campaigns)]
    places = [{(step.interval.first, step.interval.second) for step in one.steps()} for one in ended]
    wrong, right = (sum(map(bool, of)) / campaigns
                    for of in ([one - case.steps for one in places], [one & case.steps for one in places]))  # fmt: skip
    none = sum(bool(one.same()[0]) and not one.open() for one in ended) / campaigns
    line: dict[str, str | float] = {"kind": "change" if case.steps else "none", "sides": case.sides, "case": case.name}
    se = round((wrong * (1 - wrong) / campaigns) ** 0.5, 4)
    line |= {"campaigns": campaigns, "false": wrong, "se": se, "found": right, "none": none}
    return line | {"runs": np.median([len(one.runs) for one in ended])}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Print the error rates of the rule as CSV.")
    parser.add_argument("--campaigns", type=int, default=2000, metavar="N", help="of each case (default: 2,000)")
    parser.add_argument("--quick", action="store_const", const=100, dest="campaigns", help="100 of each case")
    parser.add_argument("--searches", action="store_true", help="of searches, not of gates")
    arguments = parser.parse_args()
    table = csv.writer(sys.stdout, lineterminator="\n")
    lines = (search_rates(one, arguments.campaigns) for one in searches()) if arguments.searches else (
        rates(one, arguments.campaigns) for one in cases())  # fmt: skip
    for number, line in enumerate(lines):
        table.writerows([line] * (not number) + [line.values()])
        sys.stdout.flush()
