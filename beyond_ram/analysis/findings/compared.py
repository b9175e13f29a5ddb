"""Findings on what was held against something else: only what table `comparisons` decides, and what it does not."""

import math
from collections.abc import Iterator

import pandas as pd

from ...experiment import AXES
from ...metrics import METRICS
from ...stacks.differences import said
from ...units import MB
from ..comparisons import CONTRASTS, decision
from ..frame import describe, varied
from ..stack_differences import between
from .base import Finding, Line, Source, Tables, lines_of, reads

# What shows a difference between stacks, by workload.
_FIGURES = {
    "tokenize": "growth_by_input",
    "soak": "memory_by_epoch",
    "stream": "requests_by_workers",
    "load": "loading_cost",
    "hub-files": "hub_files",
    "dedup": "dedup",
    "copy-on-write": "copy_on_write",
}
# A ratio that could have been seen says nothing above this.
_ABSURD = 100
_FIGURE_OF = {contrast.axis: contrast.figure for contrast in CONTRASTS}


@reads("comparisons")
def _differences(tables: Tables) -> Iterator[Finding]:
    """One finding for each two values of an axis: the strongest difference, what else differs there, and how often."""
    table = tables["comparisons"]
    conditions = [axis for axis in varied(table) if axis != "experiment"]
    for (axis, before, after), group in table.groupby(["axis", "before", "after"], sort=False):
        shown = group[group["matters"].astype(bool)].sort_values("strength", ascending=False)
        if shown.empty:
            continue
        first = lines_of(shown)[0]
        # Of the metric in the title: in other cells others may be shown, and this one not.
        asked, seen = (len(lines[lines["metric"] == first["metric"]]) for lines in (group, shown))
        sentences = [_sentence(line, conditions) for line in lines_of(shown.drop_duplicates("metric"))]
        failed = int(group["failed"].sum())
        yield Finding(
            f"{_named(axis, after)} against {_named(axis, before)}: {_label(first)} {_effect(first)}",
            f"{' '.join(sentences)} The first is shown in {seen} of {asked} cells that were compared"
            + (f"; {failed} of their runs failed." if failed else ".")
            + (_else(tables, before, after) if axis == "stack" else ""),
            _FIGURE_OF.get(str(axis)) or _FIGURES.get(first["workload"], ""),
            str(first["experiment"]),
            math.exp(first["strength"]),
        )


@reads("comparisons")
def _nothing_worse(tables: Tables) -> Iterator[Finding]:
    """Two stacks of which none was shown to be worse: what that is worth."""
    table = tables["comparisons"]
    pairs = table[table["axis"] == "stack"]
    for (before, after), group in pairs.groupby(["before", "after"], sort=False):
        if (group["matters"].astype(bool) & group["verdict"].isin(["worse", "differs"])).any():
            continue
        counts = group["verdict"].value_counts()
        known = [f"{counts[verdict]} {verdict}" for verdict in counts.index]
        open_ratios = group.loc[group["verdict"].eq("not shown") & group["ratio"].notna(), "could_see"].dropna()
        reach = (
            f" Of those not shown {_seen(open_ratios.median())} could have been seen in the median, "
            f"{_seen(open_ratios.max())} in the worst."
            if len(open_ratios)
            else ""
        )
        first = lines_of(group)[0]
        decided = group["verdict"].ne("not enough data").any()
        yield Finding(
            f"{after}: nothing is shown to be worse than in {before}"
            if decided
            else f"{after} against {before}: too few repeats to tell",
            f"Of {len(group)} comparisons: {', '.join(known)}; {_runs(group['n'])}."
            + reach
            + _else(tables, before, after),
            _FIGURES.get(first["workload"], ""),
            str(first["experiment"]),
            0.0,
        )


def _runs(n: "pd.Series[int]") -> str:
    least, most = int(n.min()), int(n.max())
    return f"n = {least}" if least == most else f"n = {least} to {most}"


def _else(tables: Tables, before: object, after: object) -> str:
    """What two stacks differ in, as a sentence; nothing where their locks are not known."""
    found = said(between(tables.get("stack_differences"), str(before), str(after)))
    return f" What the locks differ in: {found}." if found else ""


def _seen(ratio: float) -> str:
    """What ratio could have been seen; two repeats that scatter come to ones that no metric has."""
    return f"a ratio of {ratio:,.2f}" if ratio < _ABSURD else f"no ratio under {_ABSURD}"


def _sentence(line: Line, conditions: list[str]) -> str:
    """A metric of a cell on both sides, with what is known of the difference."""
    unit, scale = ("MB", MB) if METRICS[line["metric"]].unit == "bytes" else (METRICS[line["metric"]].unit, 1)
    sides = f"{_number(line['candidate'] / scale)} against {_number(line['baseline'] / scale)} {unit}"
    where = ", ".join(describe(line, (axis for axis in conditions if axis != line["axis"])))
    return f"{METRICS[line['metric']].label}: {sides}, {_ends(line, unit, scale)}{f' ({where})' if where else ''}."


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _ends(line: Line, unit: str, scale: float) -> str:
    found = decision(pd.Series(line))
    if math.isnan(line["difference"]):
        return f"ratio {found.worth}"
    values = [f"{value / scale:+,.4g}" for value in (found.difference, found.low, found.high)]
    return f"{values[0]} {unit} (95 % {values[1]} to {values[2]}, n = {found.n})"


def _effect(line: Line) -> str:
    if math.isnan(line["difference"]):
        return f"{line['ratio']:,.2f} times"
    unit, scale = ("MB", MB) if METRICS[line["metric"]].unit == "bytes" else (METRICS[line["metric"]].unit, 1)
    return f"{line['difference'] / scale:+,.4g} {unit}"


def _label(line: Line) -> str:
    label = METRICS[line["metric"]].label
    return label if label[:2].isupper() else label[:1].lower() + label[1:]


def _named(axis: object, value: object) -> str:
    known = AXES[str(axis)]
    return known.describe(int(str(value)) if known.number else str(value)) or f"{axis} {value}"


SOURCES: tuple[Source, ...] = (_differences, _nothing_worse)
