"""The runs of a gate: measured, each as its side has it, and read; and their decisions as table `comparisons`."""

import dataclasses
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ..analysis.comparisons import COLUMNS, ComparedCells, compared
from ..analysis.decide import strength
from ..analysis.frame import key
from ..analysis.results import FEW, LIKELY, NOISY, OTHER_WORK, UNKNOWN
from ..analysis.rule import metric_of, same_in_words
from ..analysis.runs import runs as table_of
from ..decisions.rule import MetricRule
from ..experiment import Cell, Config
from ..files import end_of
from ..measure import processes
from ..measure.campaign import Campaign
from ..measure.cell import Setting, write_failed
from ..measure.cells import call
from ..measure.compare import means
from ..measure.gate import BASELINE, CANDIDATE, FIRST, DecidedMetric, GatePolicy, measured
from ..measure.plan import Member, Run
from ..metrics import METRICS, derive
from ..metrics.loading import AT_FAULT
from ..metrics.runs import FAILED
from ..records import cell_runs
from ..text import foreign, last_line
from .sides import BuiltSide, name_of

ROWS = "rows"
# An undecided change with a p below this is likely.
_LIKELY = 0.05
# A run has at least these seconds, also where the budget is used up.
LEAST_S = 10.0


def cases(cells: Sequence[Cell]) -> dict[str, Cell]:
    """The cells by a short name."""
    names = [cell.experiment for cell in cells]
    return {cell.experiment if names.count(cell.experiment) == 1 else cell.path: cell for cell in cells}


@dataclasses.dataclass
class GateRuns:
    """Measures runs, and reads them."""

    config: Config
    cells: Sequence[Cell]
    sides: Mapping[tuple[str, str], BuiltSide]
    campaign: Campaign
    budget_s: float

    def _cell(self, member: Member, repeat: int) -> tuple[Cell, BuiltSide]:
        cell, side = cases(self.cells)[member.case], member.side.removesuffix(FIRST)
        stack = self.sides[str(cell["stack"]), side]
        return dataclasses.replace(cell.replace(stack=stack.stack), rep=repeat), stack

    def once(self, member: Member, number: int, block: str) -> Run:
        """Measure one run, in the time that is left; its output is in its log. One that fails is a record."""
        cell, stack = self._cell(member, 0 if member.side.endswith(FIRST) else number)
        job, results, began = self.config.job(cell), Path(self.config.results), time.time()
        left_s = max(self.budget_s - self.campaign.used_s, LEAST_S)
        job = job.but(timeout_s=min(filter(None, (job.timeout_s, self.campaign.patience_s, left_s))))
        status, log = call(results, [job], {"python": stack.python, "lock": str(stack.lock)})
        if status < 0:
            raise RuntimeError(f"{cell.path}: ended with {processes.ending(status)}")
        if status:
            setting = Setting(job, stack.python, stack.lock, results / "private")
            write_failed(setting, results / "runs" / cell.path, last_line(end_of(log), processes.ending(status)))
        record, events = cell_runs.run(results / "runs" / cell.path)
        # Runs with an injected fault are not compared.
        compared = record["cell"].get("fault", "none") == "none"
        numbers = derive(record, events) if compared else {}
        values = values_of(record["workload"], record["completed_work"], numbers)
        return Run(member, number, block, str(record["outcome"]), "", None, values, began, time.time(), cell.path)

    def table(self, runs: Iterable[Run]) -> pd.DataFrame:
        """Table `runs` of the runs that are compared."""
        read = [cell_runs.run(Path(self.config.results, "runs", run.folder)) for run in measured(runs)]
        table = table_of(read) if read else pd.DataFrame()
        if "reason" in table:  # a program may say why it cannot run
            table["reason"] = [foreign(why) if isinstance(why, str) else why for why in table["reason"]]
        return table


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


def comparisons(policy: GatePolicy, cells: Mapping[str, Cell], runs: pd.DataFrame) -> pd.DataFrame:
    """Table `comparisons` from table `runs`, each line as of the look that has decided it."""
    pairs = [(name_of(base, BASELINE), name_of(base, CANDIDATE)) for base in dict.fromkeys(policy.stacks.values())]
    candidates = {name: cell.replace(stack=name_of(policy.stacks[name], CANDIDATE)) for name, cell in cells.items()}
    cases, lines = {key(cell.parameters()): name for name, cell in candidates.items()}, dict[Any, dict[str, Any]]()
    for n in {one.decision.n for one in policy.decided.values()}:
        for one in compared(runs[runs["rep"] <= n], pairs):
            name = cases.get(one.cells[1], ""), one.question.metric
            if one.line["axis"] == "stack" and name in policy.decided and policy.decided[name].decision.n == n:
                lines[name] = _line(one, policy.decided[name])
    table = pd.DataFrame([lines[name] for name in policy.decided], columns=None if lines else COLUMNS)
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
