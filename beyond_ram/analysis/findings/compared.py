"""Findings about two values of an axis: what table `comparisons` confirms, and runs that end where others complete."""

import math
from collections.abc import Iterator

import pandas as pd

from ...experiment import AXES
from ...metrics import METRICS
from ...metrics.runs import FAILED
from ..frame import CellValues, axes, describe, same_but_for, varied
from ..stack_differences import between
from .finding import Effect, Finding, Scope, TableLine, Tables, lines_of, tries

_CONFIRMED = ("better", "worse")
_NUMBERS = ("baseline", "candidate", "ratio", "difference", "low", "high")


def differences(tables: Tables) -> Iterator[Finding]:
    """One finding for each two values of an axis that differ, with all metrics that differ, strongest first."""
    table = tables["comparisons"]
    conditions = [axis for axis in varied(table) if axis != "experiment"]
    for (axis, before, after), group in table.groupby(["axis", "before", "after"], sort=False):
        confirmed = _in_order(group[group["result"].isin(_CONFIRMED)])
        if confirmed.empty:
            continue
        first = lines_of(confirmed.head(1))[0]
        # The number of comparisons of the title's metric, and the number of confirmed ones.
        compared, times = (len(lines[lines["metric"] == first["metric"]]) for lines in (group, confirmed))
        limited = tuple(describe(first, (one for one in varied(group) if one != "experiment")))
        scope = Scope(
            str(first["experiment"]), limited if times < compared else (), times, compared, int(group["failed"].sum())
        )
        names = (value_in_words(axis, before), value_in_words(axis, after))
        yield Finding(
            kind="difference",
            subject=names[1],
            baseline=names[0],
            effects=_effects(confirmed, conditions),
            scope=scope,
            facts={
                "axis": str(axis),
                "packages": between(tables.get("stack_differences"), str(before), str(after)),
                "undecided": _undecided(group, conditions),
                "wall_s": _wall_s(tables, first),
            },
            strength=math.exp(first["strength"]),
            seen=tuple(lines_of(confirmed.drop_duplicates(axes(confirmed)))),
        )


def _effects(confirmed: pd.DataFrame, conditions: list[str]) -> tuple[Effect, ...]:
    """One effect per metric and result: from the first cell, or from another cell if it is not confirmed in the
    first."""
    cell = confirmed.groupby(axes(confirmed), dropna=False).ngroup()
    here_first = confirmed.assign(_elsewhere=cell.ne(cell.iloc[0])).sort_values("_elsewhere", kind="stable")
    chosen = here_first.drop_duplicates(["metric", "result"]).drop(columns="_elsewhere")
    return tuple(_effect(line, conditions) for line in lines_of(chosen))


def _effect(line: TableLine, conditions: list[str]) -> Effect:
    baseline, candidate, ratio, difference, low, high = (float(line[name]) for name in _NUMBERS)
    return Effect(
        line["metric"], baseline, candidate, ratio, difference, low, high, int(line["n"]), bool(line["exact"]),
        str(line["result"]), tuple(describe(line, (axis for axis in conditions if axis != line["axis"]))),
        str(line["experiment"]),
    )  # fmt: skip


def _in_order(confirmed: pd.DataFrame) -> pd.DataFrame:
    """Strongest first. A metric that only accompanies another one comes last."""
    metrics = set(confirmed["metric"])
    last = confirmed["metric"].map(lambda metric: METRICS[metric].beside in metrics)
    return (
        confirmed.assign(_last=last).sort_values(["_last", "strength"], ascending=[True, False]).drop(columns="_last")
    )


def _undecided(group: pd.DataFrame, conditions: list[str]) -> tuple[Effect, ...]:
    """Undecided metrics whose interval is known: one effect per metric, from the cell with the widest interval.

    Failed runs are left out, because a finding counts them.
    """
    lines = group[group["result"].eq("undecided") & group["low"].notna() & group["metric"].ne(FAILED)]
    widest = lines.assign(_width=lines["high"] - lines["low"]).sort_values("_width", ascending=False)
    return tuple(_effect(line, conditions) for line in lines_of(widest.drop_duplicates("metric")))


def _wall_s(tables: Tables, line: TableLine) -> tuple[float, float] | None:
    """The median wall-clock seconds of both sides; None where a line compares them, or if they are unknown."""
    runs = tables.get("runs")
    if runs is None or not {"duration_s", line["axis"]} <= {*runs}:
        return None
    if METRICS["duration_s"].decided_in(str(line["workload"])):
        return None
    cell = [axis for axis in axes(runs) if axis != line["axis"] and pd.notna(line.get(axis))]
    same = runs[(runs[cell] == [line[axis] for axis in cell]).all(axis=1) & runs["completed_work"].astype(bool)]
    values = same[line["axis"]].map(lambda value: str(int(value)) if isinstance(value, float) else str(value))
    before, after = (same.loc[values == line[side], "duration_s"].median() for side in ("before", "after"))
    return None if math.isnan(before) or math.isnan(after) else (float(before), float(after))


def value_in_words(axis: object, value: object) -> str:
    """A value of an axis in words."""
    spec = AXES[str(axis)]
    return spec.describe(int(float(str(value))) if spec.number else str(value)) or f"default {spec.label}"


_ENDED = ("killed_at_limit", "timed_out")


def outcomes(tables: Tables) -> Iterator[Finding]:
    """Values of an axis with which every run was killed or not done in time, beside one with which every run completed.

    One finding per experiment and axis: the first setting that shows it. None where a comparison of failed runs is
    decided, which is a finding of its own.
    """
    decided: set[tuple[object, ...]] = set()
    if len(compared := tables.get("comparisons", pd.DataFrame())):
        failed = compared[compared["metric"].eq(FAILED) & compared["result"].isin(_CONFIRMED)]
        decided = {*failed[["experiment", "axis"]].itertuples(index=False, name=None)}
    for experiment, runs in tables["runs"].groupby("experiment", sort=False):
        if not runs["outcome"].isin(_ENDED).any():
            continue
        for axis in (one for one in varied(runs) if one != "experiment"):
            pairs = list(_ended_beside_completed(runs, axis))
            if pairs and (experiment, axis) not in decided:
                ended, completed, cell = pairs[0]
                settings = {one: cell[one] for one in varied(runs) if one in cell}
                yield Finding(
                    kind="outcomes",
                    subject=value_in_words(axis, ended[axis].iloc[0]),
                    baseline=value_in_words(axis, completed[axis].iloc[0]),
                    scope=Scope(str(experiment), tuple(describe(settings, settings)), failed=len(ended)),
                    facts={"outcome": str(ended["outcome"].iloc[0]), "ended": len(ended), "completed": len(completed)},
                    strength=tries(len(ended)),
                    seen=tuple(lines_of(pd.concat([ended, completed]))),
                )


def _ended_beside_completed(runs: pd.DataFrame, axis: str) -> Iterator[tuple[pd.DataFrame, pd.DataFrame, CellValues]]:
    for cell, group in same_but_for(runs, axis):
        sides = [lines for _, lines in group.groupby(axis, sort=False)]
        ended = [lines for lines in sides if lines["outcome"].isin(_ENDED).all() and lines["outcome"].nunique() == 1]
        completed = [lines for lines in sides if lines["outcome"].eq("completed").all()]
        if ended and completed:
            yield ended[0], completed[0], cell
