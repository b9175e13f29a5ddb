"""Findings on what grew, who held it, and how much is needed."""

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pandas as pd

from ...advice import MIB
from ...experiment import AXES
from ...metrics import METRICS
from ...units import GB, MB
from ..decide import AT_LEAST, strength
from ..frame import cells, describe, varied
from ..growth import in_words
from ..ladders import effect_in_words
from ..thresholds import EPOCH_BYTES, GROWN_BYTES, LEAST, SHARE
from .base import Bar, Finding, Line, Source, Tables, failures, lines_of, reads

# What a cell of table `growth` is, beside its stack.
_CELL = ("experiment", *(axis for axis in AXES if axis != "stack"))


@reads("growth")
def _growth(tables: Tables) -> Iterator[Finding]:
    """How memory grows with the input: stacks that the roles compare, by document, and what is in no such pair."""
    growth = tables["growth"]
    lines = lines_of(growth[growth["cache"] == "cold"])
    first = {_cell(line, line["stack"]): place for place, line in reversed([*enumerate(lines)])}
    told = set()
    for place, line in enumerate(lines):
        if line["difference_verdict"] not in ("better", "worse", "differs"):
            continue
        other = first.get(_cell(line, line["against"]))
        if other is None:
            continue
        told |= {place, other}
        apart, low, high = (line[f"difference_{end}"] / 1000 for end in ("mb_per_gb", "low", "high"))
        yield Finding(
            f"{line['stack']} keeps {abs(apart):,.3g} MB {'less' if apart < 0 else 'more'} anonymous memory per MB of "
            f"text than {line['against']}",
            f"{_where(line)}: paired by document, {apart:+,.3g} MB per MB of text (95 % {low:+,.3g} to {high:+,.3g}): "
            "the readings all along the runs are in it; table `comparisons` has what each run grew by in the end. "
            f"{line['against']} {in_words(lines[other])}; {line['stack']} {in_words(line)}.{_not_weighed(line)}",
            "growth_by_input",
            str(line["experiment"]),
            math.exp(line["difference_strength"]),
            action=_keeps_less(line),
            bars=(_slope(lines[other]), _slope(line)),
            seen=(lines[other], line),
            cause=("growth", str(line["against"]), str(line["stack"])),
        )
    for place, line in enumerate(lines):
        if place not in told:
            yield Finding(
                f"{line['stack']}: anonymous memory {in_words(line, short=True)}",
                f"{_where(line)}: {in_words(line)}.{_not_weighed(line)}",
                "growth_by_input",
                str(line["experiment"]),
                math.exp(_grows_for_sure(line)),
                seen=(line,),
                cause=("growth", str(line["stack"]), str(line["anon_shape"])),
            )


def _keeps_less(line: Line) -> str:
    """Which of two stacks keeps less, where one is shown to."""
    if line["difference_verdict"] not in ("better", "worse"):
        return ""
    sides = (str(line["stack"]), str(line["against"]))
    choice, other = sides if line["difference_verdict"] == "better" else sides[::-1]
    return f"Where growth with the text decides, choose {choice}, not {other}."


def _slope(line: Line) -> Bar:
    """Of memory that is not shown to grow there is no slope to draw."""
    if line["anon_shape"] not in ("straight", "grows"):
        return Bar(str(line["stack"]), 0.0, in_words(line, short=True).partition(";")[0])
    value = line["anon_slope_mb_per_gb"] / 1000
    return Bar(str(line["stack"]), max(0.0, value), f"{value:,.3g} MB per MB of text")


def _cell(line: Line, stack: object) -> tuple[str, ...]:
    """The cell of a line with another stack, or its own."""
    return (str(stack), *(str(line[axis]) for axis in _CELL if axis in line))


def _grows_for_sure(line: Line) -> float:
    """How much memory grows over the input weighed for sure, as the log of a ratio to what it began with."""
    if line["anon_shape"] not in ("straight", "grows"):
        return 0.0
    begun = line["anon_intercept_mb"]
    low, high = (line[f"anon_slope_mb_per_gb_{end}"] * line["bytes_in_max"] / GB for end in ("low", "high"))
    return strength(low, high, max(begun, 0.0), GROWN_BYTES / MB, as_ratio=False)


def _not_weighed(line: Line) -> str:
    """That a gigabyte lies beyond what was weighed."""
    far = line["gb_over_largest"]
    return f" A gigabyte would be {far:,.0f} times the largest input, and was not weighed." if far > 1 else ""


def _where(line: Line) -> str:
    return f"Mode {line['mode']}, corpus {line['corpus']}"


@reads("verdicts")
def _owners(tables: Tables) -> Iterator[Finding]:
    """Of each stack the cell that grew most, of those whose owner is known."""
    known = tables["verdicts"]
    known = known[known["verdict"].isin(["held", "leak", "retained"])]
    for stack, group in known.groupby("stack", sort=False):
        line = max(lines_of(group), key=lambda line: line["anon_grown_bytes"])
        same = lines_of(group[group["verdict"].eq(line["verdict"]) & group["owner"].eq(line["owner"])])
        all_of_stack = tables["verdicts"][tables["verdicts"]["stack"] == stack]
        beside = tables["verdicts"][tables["verdicts"]["experiment"] == line["experiment"]]
        axes = (axis for axis in varied(beside) if axis not in ("experiment", "stack"))
        where = ", ".join([f"Experiment {line['experiment']}", *describe(line, axes)])
        repeats = "one run" if line["n"] == 1 else f"each of {line['n']:.0f} runs"
        title = {
            "held": f"{line['owner']} held most of what grew",
            "leak": f"{line['owner']} grew with every epoch",
            "retained": f"most of what grew is in use by nobody, and kept by {line['owner']}",
        }[line["verdict"]]
        yield Finding(
            f"{stack}: {title}, in {repeats}",
            f"{where}: {line['sentence']}{failures(line)} {_in_all(all_of_stack)} Evidence: {line['evidence']}.",
            # Cells with worker processes are not in the figure.
            "" if line.get("workers", 0) > 0 else "who_holds_it",
            str(line["experiment"]),
            math.exp(
                strength(
                    line["anon_grown_bytes_low"], line["anon_grown_bytes_high"], line["imported_anon_bytes"],
                    as_ratio=False,
                )
            ),
            bars=(_bar("once imported", line["imported_anon_bytes"]), _bar("grown by", line["anon_grown_bytes"])),
            seen=tuple(same),
            cause=("owner", str(line["verdict"]), str(line["owner"])),
        )  # fmt: skip


def _in_all(verdicts: pd.DataFrame) -> str:
    """What became of all cells of a stack: the one that grew most need not be like the others."""
    said = {"held": "{} held most of it", "retained": "{} kept it unused", "leak": "{} leaked"}
    said |= {"flat": "nothing to speak of", "undecided": "undecided"}
    kinds = Counter((str(line["verdict"]), str(line["owner"])) for line in lines_of(verdicts.fillna({"owner": ""})))
    counted = [f"{said.get(verdict, verdict).format(owner)} in {n}" for (verdict, owner), n in kinds.items()]
    return f"All cells of this stack, {len(verdicts)}: {', '.join(counted)}."


@reads("remedies")
def _remedies(tables: Tables) -> Iterator[Finding]:
    """What is told to people and does nothing: in every cell of the stack in which it was tried."""
    remedies = tables["remedies"]
    growth = remedies[(remedies["metric"] == "grown_anon_bytes") & remedies["effect"].ne("not run")]
    for stack, group in growth.groupby("stack", sort=False):
        tried = {str(name): lines_of(lines) for name, lines in group.groupby("remedy", sort=False)}
        idle = {n: lines for n, lines in tried.items() if all(one["effect"] == "nothing" for one in lines)}
        if not idle:
            continue
        said = [f"{name} {_ratio(line)}" for name, lines in idle.items() for line in lines]
        yield Finding(
            f"No effect on the growth that matters ({stack}): {', '.join(idle)}",
            f"Growth with it over growth without it, 95 % intervals that lie wholly within {SHARE:.0%} or "
            f"{LEAST['bytes'] / MB:,.0f} MB of no effect: {'; '.join(said)}. Tried were {len(tried)}.",
            "what_helps",
            str(group["experiment"].iloc[0]),
            1.0,
            action=f"Leave out {', '.join(idle)}: on this growth it is decided to do nothing.",
            seen=tuple(line for lines in idle.values() for line in lines),
        )


def _bar(label: str, size_bytes: float) -> Bar:
    return Bar(label, max(0.0, float(size_bytes)), f"{size_bytes / MB:,.0f} MB")


def _ratio(line: Line) -> str:
    """A ratio, its interval and n; where what grows is too small for one, how much that is."""
    if math.isnan(line["low"]):
        return f"on {line['without'] / MB:,.1f} MB (n = {line['n']:.0f})"
    return f"{line['ratio']:.2f} ({line['low']:.2f} to {line['high']:.2f}, n = {line['n']:.0f})"


@reads("regrowth")
def _regrowth(tables: Tables) -> Iterator[Finding]:
    """Repeated work that does not level off, over several runs."""
    regrowth = tables["regrowth"]
    for row in lines_of(regrowth[regrowth["regrowth"].eq("grows") & regrowth["slope_bytes_low"].gt(0)]):
        what = ", ".join([str(row["stack"]), *describe(row, ("subject", "case", "between"))])
        slope, low, high = (row[f"slope_bytes{end}"] / MB for end in ("", "_low", "_high"))
        least, most = (row[f"slope_bytes_{end}"] * row["epochs_read"] for end in ("low", "high"))
        yield Finding(
            f"Grows with every epoch: {what}",
            f"{slope:,.2f} MB an epoch over the later half of {row['epochs_read']:.0f} epochs (95 % {low:,.2f} to "
            f"{high:,.2f}, n = {row['n']:.0f} runs), each over the same {row['epoch_input_bytes'] / MB:,.0f} MB of "
            f"input.{failures(row)}",
            "memory_by_epoch",
            str(row["experiment"]),
            math.exp(strength(least, most, max(row["first_epoch_bytes"], 0.0), EPOCH_BYTES, as_ratio=False)),
            seen=(row,),
            cause=("epochs", str(row["stack"]), what),
        )


@reads("ladders")
def _version_steps(tables: Tables) -> Iterator[Finding]:
    """Between which releases something changed, over repeats of both."""
    steps = tables["ladders"]
    steps = steps[steps["significant"].astype(bool) & (steps["n"] >= AT_LEAST)]
    for line in lines_of(steps):
        if line["low"] <= 1 <= line["high"]:
            continue
        metric = METRICS[line["metric"]]
        unit, scale = ("MB", MB) if metric.unit == "bytes" else (metric.unit, 1)
        first, second = line["from_value"] / scale, line["to_value"] / scale
        known = ", ".join(filter(None, [effect_in_words(line, unit, scale), f"n = {line['n']:.0f}"]))
        near = "neighbouring " if line["neighbours"] else ""
        release, besides = f"{line['factor']} {line['to_version']}", "Everything"
        if isinstance(line.get("moved"), str) and line["moved"]:
            release += " and what moved with it"
            besides = f"With {line['moved']}, since not both can be installed otherwise. Everything"
        yield Finding(
            f"{release}: {metric.label}, {second:,.0f} {unit}, where {line['from_version']} has {first:,.0f} {unit}",
            f"{besides} else as stack {line['stack']} locks it, the median goes from {first:,.0f} to "
            f"{second:,.0f} {unit} between these two {near}releases{_work(line)}: {known}.{failures(line)}",
            "versions",
            str(line["experiment"]),
            _sure_factor(line["low"], line["high"]),
            action=_version(line, steps),
            bars=tuple(
                Bar(str(version), float(line[value]), f"{line[value] / scale:,.0f} {unit}")
                for version, value in ((line["from_version"], "from_value"), (line["to_version"], "to_value"))
            ),
            seen=(line,),
            cause=("versions", str(line["factor"]), str(line["from_version"]), str(line["to_version"])),
        )


def _work(line: Line) -> str:
    """What was done in each version."""
    done = ", ".join(describe(line, (axis for axis in AXES if axis not in ("experiment", "stack") and axis in line)))
    return f" ({done})" if done else ""


def _version(line: Line, steps: pd.DataFrame) -> str:
    """Which of two releases is better in the metric; empty where none is, or another step leads to one better still."""
    lower = line["to_value"] < line["from_value"]
    better = {"lower": lower, "higher": not lower}.get(METRICS[line["metric"]].direction)
    if better is None:
        return ""
    versions = (line["to_version"], line["from_version"])
    choice, other = versions if better else versions[::-1]
    mine = steps[(steps["ladder"] == line["ladder"]) & (steps["stack"] == line["stack"])]
    values = [*mine["from_value"], *mine["to_value"]]
    best = min(values) if METRICS[line["metric"]].direction == "lower" else max(values)
    if best not in (line["from_value"], line["to_value"]):
        return ""
    label = METRICS[line["metric"]].label
    return f"Where {label[0].lower()}{label[1:]} decides, choose {line['factor']} {choice}, not {other}."


def _sure_factor(low: float, high: float) -> float:
    """The end of a ratio's interval that is nearest to 1, as a factor; 1 where it is not known."""
    if pd.isna(low) or low <= 0:
        return 1 / high if 0 < high < 1 else 1.0
    return math.exp(strength(math.log(low), math.log(high), 0.0))


@reads("limits")
def _limits(tables: Tables) -> Iterator[Finding]:
    """How much memory is really needed, between what limits, and how far readings are from it."""
    known = tables["limits"].dropna(subset=["completed_at_bytes", "killed_at_bytes"])
    for _, group in cells(known):
        lines = lines_of(group)
        line, n = lines[0], len(lines)
        low, high = group["killed_at_bytes"].min() / MB, group["completed_at_bytes"].max() / MB
        rss, ask = group["peak_rss_bytes"] / MB, group["ask_bytes"] / MB
        # In whole MiB, as a scheduler takes it and every page gives it.
        asked = f"{_range(np.ceil(group['ask_bytes'] / MIB))} MiB ({_range(ask)} MB)"
        cell = ", ".join([str(line["stack"]), *describe(line, ("mode", "size_mb"))])
        counted = "one bisection" if n == 1 else f"{n} bisections"
        probes = group["probes"].sum() if "probes" in group else math.nan
        tried = "" if pd.isna(probes) else f" of {probes:.0f} runs under limits"
        nearest = ", ".join(dict.fromkeys(str(one["nearest_predictor"]) for one in lines))
        yield Finding(
            f"{line['experiment']}, {cell}: needs {low:,.0f} to {high:,.0f} MB, and shows {_range(rss)} MB of RSS",
            f"In {counted}{tried} it was killed under {low:,.0f} MB and completed under {high:,.0f} MB"
            + f", there in {_range(group['time_ratio'], '.2f')} times the time without a limit"
            + (" (one run against one)" if n < AT_LEAST else "")
            + _speed_in_words(group)
            + ". Of the readings without one "
            f"nearest: {nearest}. From such a run `beyond-ram watch` asks a scheduler for {asked}."
            f"{failures(line)}",
            "smallest_limit",
            str(line["experiment"]),
            # One bisection says nothing of how much another would differ.
            1.0 if n < AT_LEAST else _sure_factor(rss.min() / high, rss.max() / low),
            action=f"Ask a scheduler for {asked}: it completed with less." if ask.min() >= high else "",
            bars=(
                _bar("killed under", low * MB),
                _bar("completed under", high * MB),
                Bar(
                    "asked for", float(group["ask_bytes"].max()), f"{np.ceil(group['ask_bytes'].max() / MIB):,.0f} MiB"
                ),
                _bar("RSS without a limit", float(rss.max()) * MB),
            ),
            seen=tuple(lines),
        )


def _speed_in_words(group: pd.DataFrame) -> str:
    """From what limit on the speed is kept, where that was looked for."""
    if "speed_kept_at_bytes" not in group or group["speed_kept_at_bytes"].isna().all():
        return ""
    known = group.dropna(subset=["speed_kept_at_bytes"])
    kept, share = _range(known["speed_kept_at_bytes"] / MB), _range(known["speed_share"], ".0%")
    return f"; {share} of its speed it keeps from {kept} MB on, by {known['speed_pairs'].sum():.0f} pairs of runs"


def _range(values: "pd.Series[float]", form: str = ",.0f") -> str:
    """The lowest and the highest of some values; one where they are written alike."""
    low, high = format(values.min(), form), format(values.max(), form)
    return low if low == high else f"{low} to {high}"


SOURCES: tuple[Source, ...] = (_growth, _version_steps, _limits, _owners, _remedies, _regrowth)
