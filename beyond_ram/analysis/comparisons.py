"""Table `comparisons`: everything that a report compares, decided together.

The registry lists the metrics (`decided`), the config's roles the stacks, and each workload its axes (`Contrast`).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import pandas as pd

from ..experiment import AXES, WORKLOADS
from ..experiment.workloads.base import Contrast, is_flag
from ..metrics import METRICS
from ..metrics.loading import AT_FAULT
from ..metrics.reported import is_reported
from ..metrics.runs import FAILED
from ..text import did_you_mean
from .decide import Question, Repeats, ReportedDecision, decide
from .frame import CellValues, Key, Pairs, Questions, axes, key, same_but_for, stack_pairs
from .noise import NO_SPREAD, spreads_of
from .outcomes import COUNTS, OUTCOME, tally
from .results import Family
from .thresholds import threshold_of

DECIDED = ["metric", *(one.name for one in fields(ReportedDecision))]
COLUMNS = ["experiment", "stack", "workload", "axis", "before", "after", "family", *DECIDED, *COUNTS, "machines"]
_MACHINE = ("cpu_count", "machine_memory_bytes", "architecture", "kernel", "cgroup_version")
# Columns of table `runs` that are read besides axes and metrics.
_READ = {"workload", "rep", "rows", "started_at", "duration_s", *OUTCOME, *_MACHINE}
Sides = tuple[pd.DataFrame, pd.DataFrame]


def comparisons(
    runs: pd.DataFrame, pairs: Pairs, questions: Questions | None = None, session_spread: pd.DataFrame | None = None
) -> pd.DataFrame:
    """One line per comparison: a metric of a cell with one value on `axis`, and of the same cell with another value.

    The cell columns are the candidate's. `runs`, `finished` and `failed` count the runs of both sides. Lines that
    answer one of the `questions` are planned, and corrected together. All others are exploratory. If `questions` is
    None, all are planned. Intervals cover other sessions as far as `session_spread` has the metric. `attrs["warnings"]`
    names questions about numbers that no run reports.
    """
    compared_cells = list(compared(runs, pairs, questions, session_spread))
    decided = [
        {**one.line, **asdict(decision)}
        for one, decision in zip(compared_cells, decide([one.question for one in compared_cells]), strict=True)
    ]
    table = pd.DataFrame(decided, columns=None if decided else COLUMNS)
    table = table[[*(name for name in table if name not in COLUMNS[2:]), *COLUMNS[2:]]]
    table.attrs["warnings"] = list(_of_unknown_numbers(runs, questions or ()))
    return table


def _of_unknown_numbers(runs: pd.DataFrame, questions: Questions) -> Iterator[str]:
    """Questions about numbers that no run of their experiment reports, though it reports others."""
    for question in questions:
        own, metric = runs[runs["experiment"] == question["experiment"]], question["metric"]
        names = [str(name) for name in own if is_reported(str(name)) and own[name].notna().any()]
        if names and is_reported(metric) and metric not in names:
            yield f"{question['experiment']}: no run reports {metric!r} of a question{did_you_mean(metric, names)}"


@dataclass(frozen=True)
class ComparedCells:
    """One comparison: its line without numbers, its question, and the cells of baseline and candidate."""

    line: CellValues
    question: Question
    cells: tuple[Key, Key]


def compared(
    runs: pd.DataFrame, pairs: Pairs, questions: Questions | None = None, session_spread: pd.DataFrame | None = None
) -> Iterator[ComparedCells]:
    """All comparisons, in the order of table `comparisons`."""
    spreads = spreads_of(session_spread)
    several = any(runs[name].nunique() > 1 for name in _MACHINE if name in runs)
    for axis, (before, after), cell, (first, second) in _compared(runs, pairs):
        counts, apart = tally(first, second), machines(first, second) if several else ""
        cells = (key(first.iloc[0].to_dict()), key(second.iloc[0].to_dict()))
        workload = first["workload"].iloc[0]
        of_first, of_second = Repeats(first), Repeats(second)
        for metric in _decided(first, second, (of_first, of_second)):
            sides = cell | {
                "workload": workload,
                "axis": axis,
                "before": _text(axis, before),
                "after": _text(axis, after),
                "metric": metric,
            }
            answers = [one for one in questions or () if answers_question(sides, one)]
            family: Family = "planned" if questions is None or answers else "exploratory"
            question = Question(
                of_first.side(metric), of_second.side(metric), metric, family=family,
                spread=spreads.get(metric, NO_SPREAD), looked_at=any(one.get("looked_at", False) for one in answers),
            )  # fmt: skip
            yield ComparedCells(sides | {"family": family} | counts | {"machines": apart}, question, cells)


def answers_question(line: Mapping[str, Any], question: Mapping[str, Any]) -> bool:
    """Whether a line answers a planned question."""
    return all(line[name] == question[name] for name in ("experiment", "metric", "axis")) and all(
        line.get(axis) in values for axis, values in question["where"].items()
    )


def _text(axis: str, value: Any) -> str:
    """A value of an axis as text. In a column with missing values, pandas turns whole numbers into floats."""
    return str(int(value)) if AXES[axis].number else str(value)


def _compared(runs: pd.DataFrame, pairs: Pairs) -> Iterator[tuple[str, tuple[Any, Any], CellValues, Sides]]:
    """For each comparison: the axis, its two values, the candidate's cell, and the runs of both sides."""
    for workload, group in _comparable(runs).groupby("workload", sort=False) if len(runs) else ():
        named = axes(group)
        group = group[[name for name in group if name in named or name in _READ or name in METRICS]]
        for cell, pair, sides in stack_pairs(group, pairs):
            yield "stack", pair, _own(sides[1], cell, named), sides
        flags = {axis: Contrast("first") for axis in named if is_flag(axis)}
        for axis, way in (WORKLOADS[str(workload)].points().compared() | flags).items():
            if {axis, *way.along} <= set(group):
                yield from _of_axis(group, axis, way, named)


def _of_axis(
    runs: pd.DataFrame, axis: str, way: Contrast, named: Sequence[str]
) -> Iterator[tuple[str, tuple[Any, Any], CellValues, Sides]]:
    """The comparisons of one axis of a workload."""
    along = list(way.along)
    for cell, same in same_but_for(runs, axis, *along):
        for before, after in way.pairs(list(dict.fromkeys(same[axis].dropna()))):
            first, second = (same[same[axis] == value] for value in (before, after))
            if all((side[along].nunique() <= 1).all() for side in (first, second)):
                yield axis, (before, after), _own(second, cell, named), (first, second)


def _comparable(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs that are compared: those without an injected fault and not from a cache."""
    for axis, value in (("fault", "none"), ("cache", "cold")):
        if axis in runs:
            runs = runs[runs[axis].isna() | runs[axis].eq(value)]
    return runs


def _own(runs: pd.DataFrame, cell: CellValues, named: Sequence[str]) -> CellValues:
    """The cell of some runs, on the axes `named`."""
    own = {axis: runs[axis] for axis in named}
    values = {axis: of.iloc[0] for axis, of in own.items() if not of.array.isna().all()}
    return values | {"experiment": cell["experiment"]}


def _decided(first: pd.DataFrame, second: pd.DataFrame, repeats: Sequence[Repeats]) -> list[str]:
    """The metrics that both sides have, or should have, and that are decided. If two clients read different rows, they
    do different work: then only failures and wrong rows are compared."""
    workload = first["workload"].iloc[0]
    measured = [name for name in dict.fromkeys([*METRICS, *first]) if name in METRICS]
    measured = [name for name in measured if METRICS[name].decided_in(workload)]
    if workload == "stream" and "rows" in first and pd.concat([first["rows"], second["rows"]]).nunique() > 1:
        measured = [FAILED, AT_FAULT]
    return [name for name in measured if name in first and all(_is_asked(name, one) for one in repeats)]


def _is_asked(metric: str, repeats: Repeats) -> bool:
    """Whether a side has values of a metric, or should have them."""
    missing = METRICS[metric].required and repeats.side(metric).unknown
    return bool(missing or not np.isnan(repeats.values(metric)).all())


def machines(first: pd.DataFrame, second: pd.DataFrame) -> str:
    """How the machines of two sides differ, in words; empty if they are equal."""
    differences = []
    for name in _MACHINE:
        if name in first:
            before, after = ([str(value) for value in side[name].dropna().unique()] for side in (first, second))
            if before and after and set(before) != set(after):
                differences.append(f"{name} {' and '.join(before)} against {' and '.join(after)}")
    return f"other machines: {', '.join(differences)}" if differences else ""


def ratio_of(line: Mapping[str, Any]) -> dict[str, float]:
    """`ratio`, `low` and `high` of a decision as ratios, even if a difference was compared.

    In that case each is 1 plus the difference over the baseline, without the scatter of the baseline. NaN if the
    baseline is too small for a ratio.
    """
    if not pd.isna(line["ratio"]):
        return {name: line[name] for name in ("ratio", "low", "high")}
    if not line["baseline"] > threshold_of(line["metric"]).floor:
        return dict.fromkeys(("ratio", "low", "high"), math.nan)
    changes = zip(("ratio", "low", "high"), ("difference", "low", "high"), strict=True)
    return {name: 1 + line[change] / line["baseline"] for name, change in changes}
