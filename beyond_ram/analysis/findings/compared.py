"""Findings about two values of an axis: what table `comparisons` confirms, and runs that end where others complete."""

import math
import re
from collections.abc import Iterator
from typing import Any

import pandas as pd

from ...experiment import AXES, WORKLOADS
from ...metrics import METRICS
from ...metrics.reported import NAME
from ...metrics.runs import FAILED
from ..changes import in_unit
from ..frame import Cell, axes, describe, same_but_for, varied
from ..reported import ASKED
from ..results import OTHER_WORK, SMALL
from ..stack_differences import between
from .finding import Advised, Bar, Effect, Finding, Line, Scope, Tables, lines_of, tries

# The figure of a difference between stacks, by workload.
_FIGURES = {
    "tokenize": "growth_by_input",
    "stream": "requests_by_workers",
    "load": "loading_cost",
    "script": "reported",
}
# The metrics that a figure draws, if it does not draw all compared metrics of its runs.
_DRAWN = {"requests_by_workers": "requests_metadata", "reported": rf"{NAME.pattern}|{'|'.join(ASKED)}"}
_FIGURE_OF = {axis: it.figure for kind in WORKLOADS.values() for axis, it in kind.points().compared().items()}
_CONFIRMED = ("better", "worse")
# The ratio from which an effect on a time is named that is too small as an amount.
_MUCH = 1.5
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
        names = (_value_in_words(axis, before), _value_in_words(axis, after))
        yield Finding(
            kind="difference",
            subject=names[1],
            baseline=names[0],
            effects=_effects(confirmed, conditions),
            scope=scope,
            advice=_advice(*names, confirmed),
            facts={
                "axis": str(axis),
                "compared": tuple(dict.fromkeys(group.loc[group["reason"] != "too few repeats", "metric"])),
                "packages": between(tables.get("stack_differences"), str(before), str(after)),
                "undecided": _undecided(group, conditions),
                "small_times": _small_times(group, conditions),
                **_inputs_and_times(tables, first),
            },
            figure=_figure(str(axis), first),
            strength=math.exp(first["strength"]),
            bars=_bars(first, names),
            seen=tuple(lines_of(confirmed.drop_duplicates(axes(confirmed)))),
        )


def _figure(axis: str, line: Line) -> str:
    """The figure that shows a difference, or none."""
    figure = _FIGURE_OF.get(axis) or _FIGURES.get(line["workload"], "")
    return figure if re.fullmatch(_DRAWN.get(figure, ".*"), line["metric"]) else ""


def _effects(confirmed: pd.DataFrame, conditions: list[str]) -> tuple[Effect, ...]:
    """One effect per metric and result: from the first cell, or from another cell if it is not confirmed in the
    first."""
    cell = confirmed.groupby(axes(confirmed), dropna=False).ngroup()
    here_first = confirmed.assign(_elsewhere=cell.ne(cell.iloc[0])).sort_values("_elsewhere", kind="stable")
    chosen = here_first.drop_duplicates(["metric", "result"]).drop(columns="_elsewhere")
    return tuple(_effect(line, conditions) for line in lines_of(chosen))


def _effect(line: Line, conditions: list[str]) -> Effect:
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


def _small_times(group: pd.DataFrame, conditions: list[str]) -> tuple[Effect, ...]:
    """Confirmed effects on seconds of half as much again that are too small as an amount: one per metric, the largest.

    A longer input makes them larger.
    """
    seconds = group["metric"].map(lambda metric: METRICS[metric].unit == "s")
    small = group[seconds & group["confirmed"].astype(bool) & ~group["result"].isin(_CONFIRMED)]
    small = small[small["reason"].fillna("").isin(["", SMALL]) & small["baseline"].gt(0)]
    effects = sorted((_effect(line, conditions) for line in lines_of(small)), key=_least_log)
    return tuple({one.metric: one for one in effects if _least_log(one) > math.log(_MUCH)}.values())


def _least_log(effect: Effect) -> float:
    """The size of the log of candidate over baseline, at the end of the interval that is nearest to no effect."""
    ends = (effect.low, effect.high)
    if math.isnan(effect.ratio):
        ends = (1 + effect.low / effect.baseline, 1 + effect.high / effect.baseline)
    nearest = min(ends, key=lambda end: abs(end - 1))
    return abs(math.log(nearest)) if nearest > 0 else math.inf


def _inputs_and_times(tables: Tables, line: Line) -> dict[str, Any]:
    """Facts from the runs of both sides: processors, rows of the input, and wall-clock seconds of the median run where
    no line compares them."""
    runs = tables.get("runs")
    if runs is None or not {"duration_s", line["axis"]} <= set(runs):
        return {}
    cell = [axis for axis in axes(runs) if axis != line["axis"] and pd.notna(line.get(axis))]
    same = runs[(runs[cell] == [line[axis] for axis in cell]).all(axis=1) & runs["completed_work"].astype(bool)]
    values = same[line["axis"]].map(lambda value: str(int(value)) if isinstance(value, float) else str(value))
    wall = [same.loc[values == line[side], "duration_s"].quantile(0.5, "lower") for side in ("before", "after")]
    tested = METRICS["duration_s"].decided_in(str(line["workload"]))
    facts: dict[str, Any] = {} if tested or any(map(pd.isna, wall)) else {"wall_s": tuple(map(float, wall))}
    for name in ("cpu_count", "rows"):
        if name in same and same[name].nunique() == 1:
            facts[name] = int(same[name].iloc[0])
    return facts


def _advice(before: str, after: str, confirmed: pd.DataFrame) -> Advised | None:
    """The better side, or the candidate with what speaks for it and against it. None if the sides did not do the same
    work."""
    if confirmed["reason"].eq(OTHER_WORK).any():
        return None
    better, worse = (tuple(confirmed.loc[confirmed["result"] == one, "metric"].unique()) for one in _CONFIRMED)
    if better:
        return Advised((after,), before, better, worse)
    return Advised((before,), after, worse)


def _bars(line: Line, names: tuple[str, str]) -> tuple[Bar, ...]:
    """Both sides of a comparison."""
    values = (float(line["baseline"]), float(line["candidate"]))
    return tuple(Bar(name, value, in_unit(line["metric"], value)) for name, value in zip(names, values, strict=True))


def _value_in_words(axis: object, value: object) -> str:
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
                    subject=_value_in_words(axis, ended[axis].iloc[0]),
                    baseline=_value_in_words(axis, completed[axis].iloc[0]),
                    scope=Scope(str(experiment), tuple(describe(settings, settings)), failed=len(ended)),
                    facts={"outcome": str(ended["outcome"].iloc[0]), "ended": len(ended), "completed": len(completed)},
                    strength=tries(len(ended)),
                    figure="loading_limit" if axis != "stack" and "loader" in runs else "",
                    seen=tuple(lines_of(pd.concat([ended, completed]))),
                )


def _ended_beside_completed(runs: pd.DataFrame, axis: str) -> Iterator[tuple[pd.DataFrame, pd.DataFrame, Cell]]:
    for cell, group in same_but_for(runs, axis):
        sides = [lines for _, lines in group.groupby(axis, sort=False)]
        ended = [lines for lines in sides if lines["outcome"].isin(_ENDED).all() and lines["outcome"].nunique() == 1]
        completed = [lines for lines in sides if lines["outcome"].eq("completed").all()]
        if ended and completed:
            yield ended[0], completed[0], cell
