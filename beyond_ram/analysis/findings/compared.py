"""Findings on what was held against something else: only what table `comparisons` decides, and what it does not."""

import math
import re
from collections.abc import Iterator
from typing import Any

import pandas as pd

from ...experiment import AXES
from ...metrics import METRICS
from ...stacks.differences import said
from ...units import amount, digits
from ..comparisons import CONTRASTS, decision
from ..frame import axes, describe, varied
from ..stack_differences import between
from ..thresholds import ABSURD, bound_of
from .base import Bar, Finding, Line, Source, Tables, lines_of, reads

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
# What these draw of all that their runs are compared in, by the names of metrics.
_DRAWN = {"requests_by_workers": re.compile("^requests_metadata$"), "worker_memory": re.compile("_bytes$")}
_FIGURE_OF = {contrast.axis: contrast.figure for contrast in CONTRASTS}


@reads("comparisons")
def _differences(tables: Tables) -> Iterator[Finding]:
    """One finding for each two values of an axis: the strongest difference, what else differs there, and how often."""
    table = tables["comparisons"]
    conditions = [axis for axis in varied(table) if axis != "experiment"]
    better = _better(table)
    for (axis, before, after), group in table.groupby(["axis", "before", "after"], sort=False):
        shown = _in_order(group[group["matters"].astype(bool)])
        if shown.empty:
            continue
        first = lines_of(shown)[0]
        # Of the metric in the title: in other cells others may be shown, and this one not.
        asked, seen_in = (len(lines[lines["metric"] == first["metric"]]) for lines in (group, shown))
        failed = int(group["failed"].sum())
        advice = _advice(_named(axis, before), _named(axis, after), shown, group, everywhere=seen_in == asked)
        only = ", ".join(describe(first, (one for one in varied(group) if one != "experiment")))
        where = f" ({only})" if only and seen_in < asked else ""
        yield Finding(
            f"{_named(axis, after)} against {_named(axis, before)}: {_label(first)} {_effect(first)}{where}",
            f"{_sentences(shown, conditions)} The first is shown in {seen_in} of {asked} cells that were compared"
            + (f"; {failed} of their runs failed." if failed else ".")
            + (f" Compared: {_labels(_enough(group))}." if advice.startswith("Choose") else "")
            + (_else(tables, before, after) if axis == "stack" else ""),
            _figure(str(axis), first),
            str(first["experiment"]),
            math.exp(first["strength"]),
            action=advice
            + _also(better.get((axis, before), []), after, _named(axis, before))
            + (_of_loaders(tables, str(before), str(after)) if axis == "loader" else ""),
            bars=_bars(first, (_named(axis, before), _named(axis, after))),
            seen=tuple(lines_of(shown.drop_duplicates(axes(shown)))),
        )


def _figure(axis: str, line: Line) -> str:
    """The figure that shows a difference; none where it is of something else that the same runs do."""
    figure = _FIGURE_OF.get(axis) or _FIGURES.get(line["workload"], "")
    return figure if _DRAWN.get(figure, re.compile("")).search(line["metric"]) else ""


def _sentences(shown: pd.DataFrame, conditions: list[str]) -> str:
    """A sentence for each metric: of the cell in the title where it is shown there, then of others."""
    cell = shown.groupby(axes(shown), dropna=False).ngroup()
    here = cell.eq(cell.iloc[0])
    elsewhere = shown[~here & ~shown["metric"].isin(shown.loc[here, "metric"])].drop_duplicates("metric")
    said = [_sentence(line, conditions) for line in lines_of(shown[here])]
    others = [_sentence(line, conditions) for line in lines_of(elsewhere)]
    return " ".join([*said, *(["In other cells:"] if others else []), *others])


def _in_order(shown: pd.DataFrame) -> pd.DataFrame:
    """Strongest first, but a metric that stands beside another comes after all that are told first."""
    metrics = set(shown["metric"])
    later = shown["metric"].map(lambda metric: METRICS[metric].beside in metrics)
    return (
        shown.assign(_later=later).sort_values(["_later", "strength"], ascending=[True, False]).drop(columns="_later")
    )


def _against(group: pd.DataFrame) -> dict[str, list[str]]:
    """What is not shown, and points to a side all the same: by its own interval, which is for the one comparison."""
    found: dict[str, list[str]] = {"better": [], "worse": []}
    for line in lines_of(group[group["verdict"] == "not shown"]):
        none, least = (0.0, "difference") if math.isnan(line["ratio"]) else (1.0, "ratio")
        if math.isnan(line["low"]) or line["low"] <= none <= line["high"]:
            continue
        lower = line[least] < none
        better = {"lower": lower, "higher": not lower}.get(METRICS[line["metric"]].direction)
        if better is not None:
            found["better" if better else "worse"].append(_label(line))
    return {side: list(dict.fromkeys(labels)) for side, labels in found.items()}


def _better(table: pd.DataFrame) -> dict[tuple[Any, Any], list[Any]]:
    """By axis and value, the other values that all that is shown speaks for."""
    found: dict[tuple[Any, Any], list[Any]] = {}
    for (axis, before, after), group in table[table["matters"].astype(bool)].groupby(["axis", "before", "after"]):
        if set(group["verdict"]) == {"better"}:
            found.setdefault((axis, before), []).append((axis, after))
    return found


def _also(better: list[Any], after: object, before: str) -> str:
    """That others are better too: which of them is, was not asked."""
    others = [_named(*one) for one in better if one[1] != after]
    if not others or len(others) == len(better):
        return ""
    return f" So {'is' if len(others) == 1 else 'are'} {', '.join(others)}; these were not held against each other."


def _of_loaders(tables: Tables, *names: str) -> str:
    """What somebody has to know who changes from one loader to the other, where the two differ in it."""
    said = ""
    loaders, runs = tables.get("loaders"), tables.get("runs")
    if loaders is not None and "lends" in loaders:
        lends = loaders.dropna(subset=["lends"]).groupby("loader")["lends"].first()
        lending = [name for name in names if lends.get(name) == "yes"]
        if lending and any(lends.get(name) == "no" for name in names):
            said += f" {lending[0]} lends its batches: whoever keeps one has to copy it."
    if runs is not None and {"loader", "workers", "peak_processes"} <= set(runs):
        several = runs[runs["workers"].gt(1) & runs["loader"].isin(names) & runs["completed_work"].astype(bool)]
        alone = several["peak_processes"].le(several["workers"]).groupby(several["loader"]).all()
        if alone.nunique() == len(names):
            said += f" {alone.idxmax()} starts no process for a worker."
    return said


def _enough(group: pd.DataFrame) -> pd.DataFrame:
    """The comparisons with repeats enough to be decided."""
    return group[group["verdict"] != "not enough data"]


def _labels(lines: pd.DataFrame) -> str:
    """The metrics of some comparisons."""
    return ", ".join(dict.fromkeys(_label(line) for line in lines_of(lines)))


def _advice(before: str, after: str, shown: pd.DataFrame, group: pd.DataFrame, *, everywhere: bool) -> str:
    """Which of the two to choose, where all that is shown speaks for one and nothing points to the other; else what
    speaks for which. The text beside it says what was compared: who looks for something else is not advised."""
    against = _against(group)
    by_verdict = dict(iter(shown.groupby("verdict")))
    if "differs" in by_verdict:  # has no better side: they did not do the same work
        return ""
    verdict = str(next(iter(by_verdict))) if len(by_verdict) == 1 else ""
    other_side = "worse" if verdict == "better" else "better"
    if verdict and against[other_side]:
        return (
            f"Weigh it up: {after} against {before} is {verdict} in {_labels(shown)}. Of what is not shown some point "
            f"to a side by their own interval, as one in twenty does by chance: {other_side} in "
            f"{', '.join(against[other_side])}"
            + (
                f"; {_in_other_cells(against, shown, verdict)}{verdict} in {', '.join(against[verdict])}."
                if against[verdict]
                else "."
            )
        )
    if verdict:
        choice, other = (after, before) if verdict == "better" else (before, after)
        where = "" if everywhere else ", under the conditions that are named"
        return (
            f"Choose {choice}, not {other}{where}: every difference that is shown and matters is in its favour, of "
            f"{_enough(group)['metric'].nunique()} metrics compared."
        )
    sides = {verdict: _labels(lines) for verdict, lines in by_verdict.items()}
    return f"Weigh it up: {after} against {before} is better in {sides['better']}; worse in {sides['worse']}."


def _in_other_cells(against: dict[str, list[str]], shown: pd.DataFrame, verdict: str) -> str:
    """A metric that points to both sides, or is shown and not shown, does so in different cells."""
    told = {*against["worse" if verdict == "better" else "better"], *map(_label, lines_of(shown))}
    return "in other cells " if told & set(against[verdict]) else ""


def _bars(line: Line, names: tuple[str, str]) -> tuple[Bar, ...]:
    """Both sides of a comparison."""
    values = (line["baseline"], line["candidate"])
    return tuple(
        Bar(name, float(value), amount(value, METRICS[line["metric"]].unit))
        for name, value in zip(names, values, strict=True)
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
        reach = detectable(open_ratios, "those not shown")
        pointing = _against(group)["worse"]
        if pointing:
            reach += f" Not shown, but worse by its own interval, as one in twenty is by chance: {', '.join(pointing)}."
        first = lines_of(group)[0]
        decided = group["verdict"].ne("not enough data").any()
        yield Finding(
            f"{after}: nothing is shown to be worse than in {before}"
            if decided
            else f"{after} against {before}: too few repeats to tell",
            f"Of {len(group)} comparisons: {', '.join(known)}; {_runs(group['n'])}."
            + _of_little(group)
            + reach
            + _else(tables, before, after),
            _FIGURES.get(first["workload"], ""),
            str(first["experiment"]),
            0.0,
            seen=tuple(lines_of(group.drop_duplicates(axes(group)))),
        )


def _of_little(group: pd.DataFrame) -> str:
    """How many are the same for want of size: no such values could have differed by what matters."""
    same = lines_of(group[group["verdict"] == "same"])
    sizes = [(max(line["baseline"], line["candidate"]), bound_of(line["metric"]).least) for line in same]
    little = sum(size <= least for size, least in sizes if least)
    return f" Of the same, {little} are too small on both sides to differ by what matters." if little else ""


def _runs(n: "pd.Series[int]") -> str:
    least, most = int(n.min()), int(n.max())
    return f"n = {least}" if least == most else f"n = {least} to {most}"


def _else(tables: Tables, before: object, after: object) -> str:
    """What two stacks differ in, as a sentence; nothing where their locks are not known."""
    found = said(between(tables.get("stack_differences"), str(before), str(after)))
    return f" What the locks differ in: {found}." if found else ""


def detectable(could_see: "pd.Series[float]", which: str) -> str:
    """What could have been seen in the comparisons of ratios among some, as a sentence."""
    if could_see.empty:
        return ""
    of = f" Of {which}, {len(could_see)} compare{'s' if len(could_see) == 1 else ''} a ratio: "
    if could_see.min() >= ABSURD:
        return f"{of}in none could one under {ABSURD} have been seen."
    middle, worst = seen(float(could_see.median())), seen(could_see.max())
    if len(could_see) == 1:
        return f"{of}{worst} could have been seen."
    return f"{of}in the median {middle} could have been seen, in the worst {worst}."


def seen(ratio: float) -> str:
    """What ratio could have been seen; two repeats that scatter come to ones that no metric has."""
    return f"a ratio of {ratio:,.2f}" if ratio < ABSURD else f"no ratio under {ABSURD}"


def _sentence(line: Line, conditions: list[str]) -> str:
    """A metric of a cell on both sides, with what is known of the difference."""
    where = ", ".join(describe(line, (axis for axis in conditions if axis != line["axis"])))
    return f"{METRICS[line['metric']].label}: {_sides(line)}, {_ends(line)}{f' ({where})' if where else ''}."


def _ends(line: Line) -> str:
    found = decision(pd.Series(line))
    if math.isnan(line["difference"]):
        return f"ratio {found.worth}"
    unit = METRICS[line["metric"]].unit
    low, high = (digits(end, unit, signed=True) for end in (found.low, found.high))
    return f"{amount(found.difference, unit, signed=True)} (95 % {low} to {high}, n = {found.n})"


def _effect(line: Line) -> str:
    """A difference as its two sides: alone, that of a growth would read as a growth."""
    if math.isnan(line["difference"]):
        return f"{line['ratio']:,.2f} times"
    return _sides(line)


def _sides(line: Line) -> str:
    unit = METRICS[line["metric"]].unit
    return f"{digits(line['candidate'], unit)} against {amount(line['baseline'], unit)}"


def _label(line: Line) -> str:
    label = METRICS[line["metric"]].label
    return label if label[:2].isupper() else label[:1].lower() + label[1:]


def _named(axis: object, value: object) -> str:
    known = AXES[str(axis)]
    return known.describe(int(str(value)) if known.number else str(value)) or f"default {known.label}"


SOURCES: tuple[Source, ...] = (_differences, _nothing_worse)
