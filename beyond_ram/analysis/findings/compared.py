"""Findings from table `comparisons`: differences between two values of an axis, and stacks without a regression."""

import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pandas as pd

from ...experiment import AXES, WORKLOADS
from ...metrics import METRICS
from ...metrics.runs import FAILED
from ...units import amount
from ..frame import Cell, axes, describe, same_but_for, varied
from ..results import LIKELY, Result
from ..stack_differences import between
from ..thresholds import threshold_of
from .finding import Advised, Bar, Effect, Finding, Line, Scope, Source, Tables, lines_of, reads, tries

# The figure of a difference between stacks, by workload.
_FIGURES = {
    "tokenize": "growth_by_input",
    "soak": "memory_by_epoch",
    "stream": "requests_by_workers",
    "load": "loading_cost",
    "script": "reported",
}
# The metrics that a figure draws, if it does not draw all compared metrics of its runs.
_DRAWN = {"requests_by_workers": re.compile("^requests_metadata$")}
_FIGURE_OF = {axis: it.figure for kind in WORKLOADS.values() for axis, it in kind.points().compared().items()}
_CONFIRMED = ("better", "worse")


@reads("comparisons")
def _differences(tables: Tables) -> Iterator[Finding]:
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
            advice=_advice(*names, confirmed, group, scope),
            facts={
                "axis": str(axis),
                "compared": tuple(dict.fromkeys(group.loc[group["reason"] != "too few repeats", "metric"])),
                "packages": between(tables.get("stack_differences"), str(before), str(after))
                if axis == "stack"
                else [],
                "undecided": _undecided(group, conditions),
                "likely": _likely(group),
                "mixed": _mixed(group),
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
    return figure if _DRAWN.get(figure, re.compile("")).search(line["metric"]) else ""


def _effects(confirmed: pd.DataFrame, conditions: list[str]) -> tuple[Effect, ...]:
    """One effect per metric: from the first cell, or from another cell if the metric is not confirmed in the first."""
    cell = confirmed.groupby(axes(confirmed), dropna=False).ngroup()
    here = cell.eq(cell.iloc[0])
    elsewhere = confirmed[~here & ~confirmed["metric"].isin(confirmed.loc[here, "metric"])].drop_duplicates("metric")
    return tuple(_effect(line, conditions) for line in lines_of(pd.concat([confirmed[here], elsewhere])))


def _effect(line: Line, conditions: list[str]) -> Effect:
    numbers = {name: float(line[name]) for name in ("baseline", "candidate", "ratio", "difference", "low", "high")}
    where = tuple(describe(line, (axis for axis in conditions if axis != line["axis"])))
    n, exact, experiment = int(line["n"]), bool(line["exact"]), str(line["experiment"])
    return Effect(line["metric"], **numbers, n=n, exact=exact, conditions=where, experiment=experiment)


def _in_order(confirmed: pd.DataFrame) -> pd.DataFrame:
    """Strongest first. A metric that only accompanies another one comes last."""
    metrics = set(confirmed["metric"])
    last = confirmed["metric"].map(lambda metric: METRICS[metric].beside in metrics)
    return (
        confirmed.assign(_last=last).sort_values(["_last", "strength"], ascending=[True, False]).drop(columns="_last")
    )


def _likely(group: pd.DataFrame) -> dict[Result, list[Effect]]:
    """Undecided comparisons that are likely better or worse, by side."""
    conditions = varied(group)
    return {
        side: [_effect(line, conditions) for line in lines_of(group[group["reason"] == reason])]
        for side, reason in LIKELY.items()
    }


def _undecided(group: pd.DataFrame, conditions: list[str]) -> tuple[Effect, ...]:
    """Undecided metrics whose interval is known: one effect per metric, from the cell with the widest interval.

    Failed runs are left out, because a finding counts them.
    """
    lines = group[group["result"].eq("undecided") & group["low"].notna() & group["metric"].ne(FAILED)]
    widest = lines.assign(_width=lines["high"] - lines["low"]).sort_values("_width", ascending=False)
    return tuple(_effect(line, conditions) for line in lines_of(widest.drop_duplicates("metric")))


def _mixed(group: pd.DataFrame) -> dict[tuple[str, str], Effect]:
    """Metrics that are better in one cell and worse in another, confirmed or likely. The first effect by metric and
    result."""
    ways = group["result"].where(group["result"].isin(_CONFIRMED), group["reason"])
    pointing = group.assign(_way=ways)[ways.isin([*_CONFIRMED, *LIKELY.values()])]
    sides = pointing["_way"].str.removeprefix("likely ").groupby(pointing["metric"]).nunique()
    mixed = pointing[pointing["metric"].isin(sides[sides > 1].index)]
    conditions = [axis for axis in varied(mixed) if axis != "experiment"]
    first = mixed.drop_duplicates(["metric", "_way"])
    return {(line["metric"], line["_way"]): _effect(line, conditions) for line in lines_of(first)}


def _inputs_and_times(tables: Tables, line: Line) -> dict[str, Any]:
    """Facts from the runs of both sides: wall-clock seconds of the median run, processors, rows of the input."""
    runs = tables.get("runs")
    if runs is None or not {"duration_s", line["axis"]} <= set(runs):
        return {}
    cell = [axis for axis in axes(runs) if axis != line["axis"] and pd.notna(line.get(axis))]
    same = runs[(runs[cell] == [line[axis] for axis in cell]).all(axis=1) & runs["completed_work"].astype(bool)]
    values = same[line["axis"]].map(lambda value: str(int(value)) if isinstance(value, float) else str(value))
    wall = [same.loc[values == line[side], "duration_s"].quantile(0.5, "lower") for side in ("before", "after")]
    facts: dict[str, Any] = {} if any(map(pd.isna, wall)) else {"wall_s": tuple(map(float, wall))}
    for name in ("cpu_count", "rows"):
        if name in same and same[name].nunique() == 1:
            facts[name] = int(same[name].iloc[0])
    return facts


def _metrics(lines: pd.DataFrame) -> tuple[str, ...]:
    return tuple(dict.fromkeys(lines["metric"]))


def _advice(before: str, after: str, confirmed: pd.DataFrame, group: pd.DataFrame, scope: Scope) -> Advised | None:
    """The side to use, if all confirmed results favour it and no likely result is against it. Else both sides."""
    if confirmed["reason"].ne("").any():  # the sides did not do the same work
        return None
    by_result = dict(iter(confirmed.groupby("result")))
    if len(by_result) == 2:
        better, worse = (_metrics(by_result[result]) for result in _CONFIRMED)
        return Advised("measure", (after,), before, scope.conditions, better, worse)
    result = str(next(iter(by_result)))
    other: Result = "worse" if result == "better" else "better"
    pointing = tuple(dict.fromkeys(effect.metric for effect in _likely(group)[other]))
    choice, instead = (after, before) if result == "better" else (before, after)
    if pointing:
        return Advised(
            "measure", (choice,), instead, scope.conditions, better=_metrics(confirmed), unconfirmed=pointing
        )
    return Advised("use", (choice,), instead, scope.conditions, better=_metrics(confirmed))


def _bars(line: Line, names: tuple[str, str]) -> tuple[Bar, ...]:
    """Both sides of a comparison."""
    unit = METRICS[line["metric"]].unit
    values = (float(line["baseline"]), float(line["candidate"]))
    return tuple(Bar(name, value, amount(value, unit)) for name, value in zip(names, values, strict=True))


@reads("comparisons")
def _no_regression(tables: Tables) -> Iterator[Finding]:
    """Two stacks without a confirmed regression: number of comparisons, and what they could have detected."""
    table = tables["comparisons"]
    pairs = table[table["axis"] == "stack"]
    for (before, after), group in pairs.groupby(["before", "after"], sort=False):
        if group["result"].eq("worse").any():
            continue
        first = lines_of(group.head(1))[0]
        yield Finding(
            kind="no regression",
            subject=str(after),
            baseline=str(before),
            effects=tuple(_likely(group)["worse"]),
            scope=Scope(str(first["experiment"]), compared=len(group)),
            facts={
                "results": {str(result): int(count) for result, count in group["result"].value_counts().items()},
                "decidable": bool(group["reason"].ne("too few repeats").any()),
                "n": (int(group["n"].min()), int(group["n"].max())),
                "same": Counter(map(_why_same, lines_of(group[group["result"] == "same"]))),
                "undecided": _undecided(group, varied(group)),
                "packages": between(tables.get("stack_differences"), str(before), str(after)),
            },
            figure=_FIGURES.get(first["workload"], ""),
            strength=0.0,
            seen=tuple(lines_of(group.drop_duplicates(axes(group)))),
        )


def _why_same(line: Line) -> str:
    """`exact` for equal counts, `small` if both sides are below the threshold, `within` if the interval is."""
    if line["exact"]:
        return "exact"
    least = threshold_of(line["metric"]).least
    return "small" if least and max(line["baseline"], line["candidate"]) <= least else "within"


def _value_in_words(axis: object, value: object) -> str:
    """A value of an axis in words."""
    spec = AXES[str(axis)]
    return spec.describe(int(float(str(value))) if spec.number else str(value)) or f"default {spec.label}"


_ENDED = ("killed_at_limit", "timed_out")


@reads("runs")
def _outcomes(tables: Tables) -> Iterator[Finding]:
    """Values of an axis with which every run was killed or not done in time, beside one with which every run completed.

    One finding per experiment and axis: the first setting that shows it. None where a comparison of failed runs is
    decided, which is a finding of its own.
    """
    compared = tables.get("comparisons", pd.DataFrame())
    failed = (
        compared[compared["metric"].eq(FAILED) & compared["result"].isin(_CONFIRMED)] if len(compared) else compared
    )
    decided = {*failed[["experiment", "axis"]].itertuples(index=False, name=None)} if len(failed) else set()
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
                    cause=("outcomes", str(experiment), axis),
                )


def _ended_beside_completed(runs: pd.DataFrame, axis: str) -> Iterator[tuple[pd.DataFrame, pd.DataFrame, Cell]]:
    for cell, group in same_but_for(runs, axis):
        sides = [lines for _, lines in group.groupby(axis, sort=False)]
        ended = [lines for lines in sides if lines["outcome"].isin(_ENDED).all() and lines["outcome"].nunique() == 1]
        completed = [lines for lines in sides if lines["outcome"].eq("completed").all()]
        if ended and completed:
            yield ended[0], completed[0], cell


SOURCES: tuple[Source, ...] = (_differences, _no_regression, _outcomes)
