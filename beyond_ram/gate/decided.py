"""What a gate reads and compares, and its decisions as table `comparisons`."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ..analysis.comparisons import COLUMNS, ComparedCells, compared
from ..analysis.decide import strength
from ..analysis.frame import Key, Pairs
from ..analysis.results import FEW, LIKELY, NOISY, OTHER_WORK, UNKNOWN
from ..analysis.rule import metric_of, same_in_words
from ..decisions.rule import MetricRule
from ..measure.compare import means
from ..measure.gate import DecidedMetric
from ..measure.plan import Run
from ..metrics import METRICS
from ..metrics.loading import AT_FAULT
from ..metrics.runs import FAILED

ROWS = "rows"
# An undecided change with a p below this is likely.
_LIKELY = 0.05


def values_of(workload: str, finished: bool | None, numbers: Mapping[str, float | None]) -> dict[str, float]:
    """The numbers of a run that a gate compares; of one that has not finished its work only whether it failed.

    Of workload `stream` also the rows. NaN: the run should have the number, and has not.
    """
    names = [name for name in numbers if METRICS[name].decided_in(workload)] if finished else [FAILED]
    values = {name: numbers.get(name) for name in (*names, *([ROWS] if workload == "stream" else []))}
    return {name: math.nan if value is None else float(value)
            for name, value in values.items() if value is not None or METRICS[name].required}  # fmt: skip


def rules(first: Sequence[Run], second: Sequence[Run]) -> dict[str, MetricRule]:
    """The metrics that both sides have, or should have. Clients that read different rows do different work: then only
    failures and wrong rows are compared."""
    names = [dict.fromkeys(name for run in side for name in run.values) for side in (first, second)]
    rows = {run.values[ROWS] for run in (*first, *second) if ROWS in run.values}
    wanted = (FAILED, AT_FAULT) if len(rows) > 1 else [name for name in names[0] if name != ROWS]
    return {name: metric_of(name) for name in wanted if all(name in side for side in names)}


def comparisons(
    decided: Mapping[tuple[str, str], DecidedMetric], runs: pd.DataFrame, pairs: Pairs, cases: Mapping[Key, str]
) -> pd.DataFrame:
    """Table `comparisons` from table `runs`, each line as of the look that has decided it; `cases` by their cell."""
    lines = dict[tuple[str, str], dict[str, Any]]()
    for n in {one.decision.n for one in decided.values()}:
        for one in compared(runs[runs["rep"] <= n], pairs):
            name = cases.get(one.cells[1], ""), one.question.metric
            if one.line["axis"] == "stack" and name in decided and decided[name].decision.n == n:
                lines[name] = _line(one, decided[name])
    table = pd.DataFrame([lines[name] for name in decided], columns=None if lines else COLUMNS)
    return table[[*(name for name in table if name not in COLUMNS[2:]), *COLUMNS[2:]]]


def _line(comparison: ComparedCells, decided: DecidedMetric) -> dict[str, Any]:
    """A line of table `comparisons`."""
    question, result, sides = comparison.question, decided.decision.result, decided.sides
    few = int(min(np.isfinite(side).sum() for side in sides))
    exact = few > 1 and not any(np.ptp(side[np.isfinite(side)]) for side in sides)
    baseline, candidate, *ends = means(decided.rule, *sides)
    as_ratio = question.as_ratio
    effect, *ends = ((one / baseline if as_ratio else one - baseline) for one in (candidate, *ends))
    low, high = ends if all(map(math.isfinite, ends)) else (math.nan, math.nan)
    logs = [math.log(one) if as_ratio and one > 0 else one for one in (low, high)]
    return comparison.line | {
        "metric": question.metric, "baseline": baseline, "candidate": candidate,
        "ratio": effect if as_ratio else math.nan, "difference": math.nan if as_ratio else effect,
        "low": low, "high": high, "p": decided.decision.p, "p_corrected": decided.decision.p, "n": few,
        "paired": False, "exact": exact, "result": result,
        "reason": _reason(comparison, decided, few, effect - as_ratio),
        "confirmed": result in ("better", "worse"),
        "detectable": as_ratio + (high - low) / 2,
        "strength": strength(logs[0], logs[1], baseline, decided.rule.floor, as_ratio=as_ratio),
    }  # fmt: skip


def _reason(comparison: ComparedCells, decided: DecidedMetric, few: int, effect: float) -> str:
    question, decision = comparison.question, decided.decision
    if decision.result == "same":
        return same_in_words([question.metric], few)
    if decision.result == "worse" and decided.rule.direction == "neither":
        return OTHER_WORK
    if decision.result != "undecided":
        return ""
    if question.unknown:
        runs = question.unknown + len(question.baseline.values) + len(question.candidate.values)
        return UNKNOWN.format(unknown=question.unknown, runs=runs)
    if few < decided.fewest:
        return FEW
    return LIKELY[decided.rule.word(effect > 0)] if decision.p < _LIKELY else NOISY
