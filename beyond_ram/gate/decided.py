"""The comparisons of a gate, all decided together by the one rule (`decisions`)."""

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..analysis.comparisons import COLUMNS, ComparedCells, compared
from ..analysis.decide import SideValues, strength
from ..analysis.frame import Key, Pairs
from ..analysis.results import FEW, LIKELY, NOISY, OTHER_WORK, UNKNOWN
from ..analysis.rule import metric_of, must_be_decided, same_in_words
from ..decisions.rule import LOOKS, Array, Decision, MetricRule, Series
from ..measure.compare import means

# An undecided change with a p below this is likely.
_LIKELY = 0.05


@dataclass(frozen=True)
class _Decided:
    """A comparison, its readings, and its decision."""

    comparison: ComparedCells
    sides: tuple[Array, Array]
    decision: Decision
    fewest: int
    """The fewest readings of a side for `same`."""

    @property
    def few(self) -> int:
        """Readings of the side with fewer."""
        return int(min(np.isfinite(side).sum() for side in self.sides))

    def line(self) -> dict[str, Any]:
        """A line of table `comparisons`."""
        question, result = self.comparison.question, self.decision.result
        metric = metric_of(question.metric, question.better)
        exact = self.few > 1 and not any(np.ptp(side[np.isfinite(side)]) for side in self.sides)
        baseline, candidate, *ends = means(metric, *self.sides)
        effect, *ends = ((one / baseline if question.as_ratio else one - baseline) for one in (candidate, *ends))
        low, high = ends if all(map(math.isfinite, ends)) else (math.nan, math.nan)
        as_ratio = question.as_ratio
        logs = [math.log(one) if as_ratio and one > 0 else one for one in (low, high)]
        return self.comparison.line | {
            "metric": question.metric, "baseline": baseline, "candidate": candidate,
            "ratio": effect if as_ratio else math.nan, "difference": math.nan if as_ratio else effect,
            "low": low, "high": high, "p": self.decision.p, "p_corrected": self.decision.p, "n": self.few,
            "paired": False, "exact": exact, "result": result, "reason": self._reason(metric, effect - as_ratio),
            "confirmed": result in ("better", "worse"),
            "detectable": as_ratio + (high - low) / 2,
            "strength": strength(logs[0], logs[1], baseline, metric.floor, as_ratio=as_ratio),
        }  # fmt: skip

    def _reason(self, metric: MetricRule, effect: float) -> str:
        question, decision = self.comparison.question, self.decision
        if decision.result == "same":
            return same_in_words([question.metric], self.few)
        if decision.result == "worse" and metric.direction == "neither":
            return OTHER_WORK
        if decision.result != "undecided":
            return ""
        if question.unknown:
            runs = question.unknown + len(question.baseline.values) + len(question.candidate.values)
            return UNKNOWN.format(unknown=question.unknown, runs=runs)
        if self.few < self.fewest:
            return FEW
        return LIKELY[metric.word(effect > 0)] if decision.p < _LIKELY else NOISY


@dataclass
class Comparisons:
    """Table `comparisons`, look by look. `better` and `worse` stay, and so do cells that need no more runs."""

    pairs: Pairs
    decided: dict[tuple[Key, str], _Decided] = field(default_factory=dict)
    closed: set[Key] = field(default_factory=set)

    def look(self, runs: pd.DataFrame, n: int, fewest: int = LOOKS[0]) -> set[Key]:
        """Decide from the first `n` runs of each side, and return the cells that need more."""
        runs = runs[runs["rep"] <= n]
        of_stacks = (one for one in compared(runs, self.pairs) if one.line["axis"] == "stack")
        asked = {(one.cells[1], one.question.metric): one for one in of_stacks}
        sides = [(_readings(one.question.baseline, n), _readings(one.question.candidate, n)) for one in asked.values()]
        ends = ("better", "worse")
        changed = {name: one.decision for name, one in self.decided.items() if one.decision.result in ends}
        stay = {name for name in self.decided if name in changed or name[0] in self.closed}
        series = Series(
            [metric_of(one.question.metric, one.question.better) for one in asked.values()], fewest,
            {at: changed[name] for at, name in enumerate(asked) if name in changed},
        )  # fmt: skip
        decisions = [Decision("undecided", n, 1.0)] * len(asked)
        if asked and n in LOOKS:
            decisions = series.look(*(np.column_stack(side) for side in zip(*sides, strict=True)))
        for (name, one), of, decision in zip(asked.items(), sides, decisions, strict=True):
            unseen = decision.result == "same" and one.question.unknown
            if name not in stay:
                result = "undecided" if unseen else decision.result
                self.decided[name] = _Decided(one, of, dataclasses.replace(decision, result=result), fewest)
        self.decided = {name: one for name, one in self.decided.items() if name in asked}
        open_ = {
            cell for (cell, metric), one in self.decided.items()
            if one.decision.result == "undecided" and must_be_decided(metric)
        } - self.closed  # fmt: skip
        self.closed |= {cell for cell, _ in asked} - open_
        return open_

    def table(self) -> pd.DataFrame:
        """Table `comparisons`."""
        table = pd.DataFrame([one.line() for one in self.decided.values()], columns=None if self.decided else COLUMNS)
        return table[[*(name for name in table if name not in COLUMNS[2:]), *COLUMNS[2:]]]


def _readings(side: SideValues, n: int) -> Array:
    """The readings by repeat; NaN where there is none."""
    readings = np.full(n, math.nan)
    readings[np.array(side.repeats, int) - 1] = side.values
    return readings
