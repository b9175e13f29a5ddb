"""The policy of a gate: both sides of each case, in an order that is drawn, until each metric is decided."""

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

import numpy as np

from ..decisions.rule import LOOKS, Array, Decision, MetricRule, Series, fewest_for, turns
from .plan import Block, Member, Run

BASELINE, CANDIDATE = "baseline", "candidate"
SIDES = (BASELINE, CANDIDATE)
SHORT_S, FEWEST_SHORT = 45.0, 8
"""Where eight runs of each side take at most 45 s in all, `same` needs eight."""
FIRST = ", not measured"
"""The end of the name of a side in a run that loads its environment from disk, for all cases."""
Rules = Callable[[Sequence[Run], Sequence[Run]], Mapping[str, MetricRule]]
"""What is compared between the runs of two sides."""


@dataclass(frozen=True)
class DecidedMetric:
    """The readings of a metric on both sides, by number of the run, and their decision."""

    rule: MetricRule
    sides: tuple[Array, Array]
    decision: Decision
    fewest: int
    """The fewest readings of a side for `same`."""


def measured(runs: Iterable[Run]) -> list[Run]:
    """The runs that are compared."""
    return [run for run in runs if not run.member.side.endswith(FIRST)]


@dataclass
class GatePolicy:
    """Both sides of each open case in turn, up to the next look, at which all cases are decided together.

    `better` and `worse` stay, and so does each decision on a case that needs no more runs. Where a finished run has NaN
    instead of a reading, nothing is `same`.
    """

    stacks: dict[str, str]
    """The stack of each case. The first run with a stack is not measured."""
    seed: int
    rules: Rules
    rare: float | None = None
    """`same` would have seen a change in this share of the runs."""
    decided: dict[tuple[str, str], DecidedMetric] = field(default_factory=dict)
    """By case and metric."""
    _looked: int = 0

    def __post_init__(self) -> None:
        self.open = list(self.stacks)
        """The cases that need more runs."""

    def next(self, runs: Sequence[Run]) -> list[Block]:
        """The next blocks: a round of each open case, in random order."""
        if first := self._first(runs):
            return first
        for look in LOOKS:
            if self.open and look > self._looked and all(self._rounds(runs, case) >= look for case in self.open):
                self.look(runs, look)
        look = next((look for look in LOOKS if look > self._looked), LOOKS[-1])
        waiting = [case for case in self.open if self._rounds(runs, case) < look]
        random.Random(f"{self.seed} {len(runs)}").shuffle(waiting)
        return [self._round(runs, case) for case in waiting]

    def _first(self, runs: Sequence[Run]) -> list[Block]:
        """A run of both sides of each stack that is not measured, so that its files are in the page cache."""
        first, ran = {stack: case for case, stack in reversed(self.stacks.items())}, {run.member for run in runs}
        both = [tuple(Member(case, f"{side}{FIRST}") for side in SIDES) for case in first.values()]
        blocks = [Block("first run", members, must=True) for members in both if not ran.issuperset(members)]
        random.Random(self.seed).shuffle(blocks)
        return blocks

    def _round(self, runs: Sequence[Run], case: str) -> Block:
        number, ran = self._rounds(runs, case) + 1, {run.member for run in runs}
        members = tuple(Member(case, SIDES[at]) for at, _ in turns(2, number, self.seed))
        return Block(f"round {number}", members, must=not {Member(case, side) for side in SIDES} <= ran)

    @staticmethod
    def _rounds(runs: Sequence[Run], case: str) -> int:
        return sum(run.member.case == case for run in measured(runs)) // 2

    def look(self, runs: Sequence[Run], n: int) -> None:
        """Decide from the first `n` runs of each side."""
        runs, self._looked = [run for run in measured(runs) if run.number <= n], n
        short = 2 * FEWEST_SHORT * len(self.stacks) * fmean(run.ended_at - run.started_at for run in runs) <= SHORT_S
        fewest = fewest_for(self.rare) if self.rare else FEWEST_SHORT if short else LOOKS[0]
        compared, none = dict[tuple[str, str], tuple[MetricRule, Array, Array, bool]](), [math.nan] * n
        for case in self.stacks:
            sides = [[run for run in runs if run.member == Member(case, side)] for side in SIDES]
            for name, rule in self.rules(*sides).items():
                first, second = (np.array([*(run.values.get(name, math.nan) for run in side), *none[len(side) :]])
                                 for side in sides)  # fmt: skip
                unseen = any(math.isnan(run.values.get(name, 0)) for side in sides for run in side)
                compared[case, name] = rule, first, second, unseen
        changed = {at: self.decided[of].decision for at, of in enumerate(compared)
                   if of in self.decided and self.decided[of].decision.result in ("better", "worse")}  # fmt: skip
        decisions = [Decision("undecided", n, 1.0)] * len(compared)
        if compared and n in LOOKS:
            series = Series([rule for rule, *_ in compared.values()], fewest, dict(changed))
            columns = zip(*((first, second) for _, first, second, _ in compared.values()), strict=True)
            decisions = series.look(*map(np.column_stack, columns))
        closed = self.stacks.keys() - self.open
        self.decided = {of: one for of, one in self.decided.items() if of in compared}
        for at, (of, (rule, first, second, unseen)) in enumerate(compared.items()):
            if of not in self.decided or not (at in changed or of[0] in closed):
                result = "undecided" if unseen and decisions[at].result == "same" else decisions[at].result
                self.decided[of] = DecidedMetric(rule, (first, second), replace(decisions[at], result=result), fewest)
        undecided = {case for (case, _), one in self.decided.items()
                     if one.rule.decides and one.decision.result == "undecided"}  # fmt: skip
        self.open = [case for case in self.open if case in undecided]

    def end(self, runs: Sequence[Run]) -> None:
        """Decide after the last run. What the budget has left out is undecided."""
        most = max((self._rounds(runs, case) for case in self.open), default=0)
        for look in (look for look in LOOKS if self._looked < look <= most):
            self.look(runs, look)
        if not self.decided and measured(runs):
            self.look(runs, max(run.number for run in measured(runs)))
