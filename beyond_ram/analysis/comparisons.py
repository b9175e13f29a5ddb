"""Table `comparisons`: everything that a report holds against something else, decided together.

What is decided, the registry says (`decided` of a metric); what is held against what, CONTRASTS and the config's roles.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from ..experiment import AXES
from ..metrics import METRICS
from ..metrics.loading import AT_FAULT
from ..metrics.runs import FAILED
from .decide import ALPHA, LEVEL, Decision, Question, decide, side
from .frame import Cell, Pairs, against, axes, same_but_for
from .outcomes import COUNTS, OUTCOME, tally
from .thresholds import threshold_of

DECIDED = [
    "metric", "baseline", "candidate", "ratio", "difference", "low", "high", "p", "p_corrected", "n", "paired", "exact",
    "result", "reason", "confirmed", "detectable", "strength",
]  # fmt: skip
COLUMNS = ["experiment", "stack", "workload", "axis", "before", "after", *DECIDED, *COUNTS, "machines"]
_MACHINE = ("cpu_count", "machine_memory_bytes", "architecture", "kernel", "cgroup_version")
# What is read of runs beside their axes and metrics.
_READ = {"workload", "rep", "rows", "started_at", "duration_s", *OUTCOME, *_MACHINE}
Sides = Iterator[tuple[Any, Any]]


def against_value(value: Any) -> Callable[[list[Any]], Sides]:
    """Every other value of an axis against this one."""
    return lambda values: ((value, other) for other in values if value in values and other != value)


def against_first(values: list[Any]) -> Sides:
    """Every other value of an axis against the one that the config names first."""
    return ((values[0], other) for other in values[1:])


def ends(values: list[Any]) -> Sides:
    """The largest value of an axis against the smallest."""
    if len(values) > 1:
        yield min(values), max(values)


@dataclass(frozen=True)
class Contrast:
    """An axis whose values are held against each other, all else the same."""

    axis: str
    sides: Callable[[list[Any]], Sides]
    workloads: tuple[str, ...]
    figure: str
    """What shows it."""
    along: tuple[str, ...] = ()
    """Axes that go with it, as the way in which workers start goes with their number."""


CONTRASTS = (
    Contrast("remedy", against_value("none"), ("tokenize",), "what_helps"),
    Contrast("batch_size", ends, ("tokenize",), "peak_by_batch"),
    Contrast("writer_batch_size", ends, ("tokenize",), "peak_by_batch"),
    Contrast("reader", against_value("from_generator"), ("tokenize",), "growth_by_input"),
    Contrast("subject", against_value("transformers"), ("soak",), "encoders"),
    Contrast("buffering", against_value("default"), ("stream",), "worker_memory"),
    # 5,120 KiB is what HfFileSystem reads at once by itself.
    Contrast("block_kb", against_value(5120), ("hub-files",), "hub_files"),
    Contrast("advice", against_value("none"), ("load",), "loading_limit"),
    Contrast("torch_threads", against_value(0), ("load",), "loading_cost"),
    Contrast("loader", against_first, ("load",), "loading_cost"),
    Contrast("workers", ends, ("load",), "loading_cost", ("start",)),
)


def comparisons(
    runs: pd.DataFrame,
    pairs: Pairs,
    *,
    contrasts: Sequence[Contrast] = CONTRASTS,
    alpha: float = ALPHA,
    level: float = LEVEL,
) -> pd.DataFrame:
    """A line a comparison: a metric of a cell with one value on `axis` against the same cell with another.

    The columns of the cell are the candidate's. `asked`, `finished` and `failed` count the runs of both sides. Their
    p-values are corrected for each other, so this table holds all that a report may call different.
    """
    questions, lines = [], []
    several = any(runs[name].nunique() > 1 for name in _MACHINE if name in runs)
    for axis, (before, after), cell, (first, second) in _compared(runs, pairs, contrasts):
        counts, apart = tally(first, second), machines(first, second) if several else ""
        for metric in _decided(first, second):
            questions.append(Question(side(first, metric), side(second, metric), metric))
            known = cell | {
                "workload": first["workload"].iloc[0],
                "axis": axis,
                "before": _text(axis, before),
                "after": _text(axis, after),
                "metric": metric,
            }
            lines.append(known | counts | {"machines": apart})
    found = [
        {**line, **{name: value for name, value in asdict(decision).items() if name in DECIDED}}
        for line, decision in zip(lines, decide(questions, alpha, level), strict=True)
    ]
    table = pd.DataFrame(found, columns=None if found else COLUMNS)
    return table[[*(name for name in table if name not in COLUMNS[2:]), *COLUMNS[2:]]]


def _text(axis: str, value: Any) -> str:
    """A value of an axis; a whole number is a float beside cells that do not have it."""
    return str(int(value)) if AXES[axis].number else str(value)


def _compared(
    runs: pd.DataFrame, pairs: Pairs, contrasts: Sequence[Contrast]
) -> Iterator[tuple[str, tuple[Any, Any], Cell, tuple[pd.DataFrame, pd.DataFrame]]]:
    """The axis, its two values, the candidate's cell, and the runs of both."""
    for workload, found in _comparable(runs).groupby("workload", sort=False):
        known = axes(found)
        found = found[[name for name in found if name in known or name in _READ or name in METRICS]]
        for cell, pair, sides in against(found, pairs):
            yield "stack", pair, _own(sides[1], cell, known), sides
        for contrast in contrasts:
            if workload not in contrast.workloads or not {contrast.axis, *contrast.along} <= set(found):
                continue
            for cell, group in same_but_for(found, contrast.axis, *contrast.along):
                values = list(dict.fromkeys(group[contrast.axis].dropna()))
                for before, after in contrast.sides(values):
                    first, second = (group[group[contrast.axis] == value] for value in (before, after))
                    if all((one[list(contrast.along)].nunique() <= 1).all() for one in (first, second)):
                        yield contrast.axis, (before, after), _own(second, cell, known), (first, second)


def _comparable(runs: pd.DataFrame) -> pd.DataFrame:
    """Runs that are held against others: under no fault, and not from a cache."""
    if runs.empty or "workload" not in runs:
        return runs.head(0).reindex(columns=[*runs, *({"workload"} - set(runs))])
    found = runs
    for axis, wanted in (("fault", "none"), ("cache", "cold")):
        if axis in found:
            found = found[found[axis].isna() | found[axis].eq(wanted)]
    return found


def _own(runs: pd.DataFrame, cell: Cell, known: Sequence[str]) -> Cell:
    """The whole cell of some runs, of axes that are `known` to have values."""
    own = {axis: runs[axis] for axis in known}
    return {axis: of.iloc[0] for axis, of in own.items() if of.notna().any()} | {"experiment": cell["experiment"]}


def _decided(first: pd.DataFrame, second: pd.DataFrame) -> list[str]:
    """The metrics that are decided of two sides. A client that reads other rows does other work, and is no
    rival: only whether it fails is, and whether its rows are the right ones."""
    workload = first["workload"].iloc[0]
    measured = [name for name, metric in METRICS.items() if metric.decided_in(workload)]
    if workload == "stream" and "rows" in first and pd.concat([first["rows"], second["rows"]]).nunique() > 1:
        measured = [FAILED, AT_FAULT]
    return [name for name in measured if name in first and first[name].notna().any() and second[name].notna().any()]


def machines(first: pd.DataFrame, second: pd.DataFrame) -> str:
    """What differs between the machines that two sides were measured on, in words; empty where nothing does."""
    said = []
    for name in _MACHINE:
        if name in first and name in second:
            before, after = ([str(value) for value in side[name].dropna().unique()] for side in (first, second))
            if before and after and set(before) != set(after):
                said.append(f"{name} {' and '.join(before)} against {' and '.join(after)}")
    return f"other machines: {', '.join(said)}" if said else ""


def of(table: pd.DataFrame, axis: str, metric: str | None = None) -> pd.DataFrame:
    """The lines of the table on one axis, and of one metric."""
    found = table[table["axis"] == axis]
    return found if metric is None else found[found["metric"] == metric]


def decision(line: "pd.Series[Any]") -> Decision:
    """A line's decision."""
    return Decision(**{name: line[name] for name in DECIDED if name != "metric"})


def ratio_of(line: Mapping[str, Any]) -> dict[str, float]:
    """`ratio`, `low` and `high` of a decision, as a ratio also where a difference was compared.

    That is then the baseline and the difference over the baseline, whose own scatter is not in it; NaN where the
    baseline is too small for a ratio.
    """
    if not pd.isna(line["ratio"]):
        return {name: line[name] for name in ("ratio", "low", "high")}
    if not line["baseline"] > threshold_of(line["metric"]).floor:
        return dict.fromkeys(("ratio", "low", "high"), math.nan)
    changes = zip(("ratio", "low", "high"), ("difference", "low", "high"), strict=True)
    return {name: 1 + line[change] / line["baseline"] for name, change in changes}
