"""Findings on what grew, who held it, and how much is needed."""

import math
from collections.abc import Iterator

import pandas as pd

from ...experiment import AXES
from ...metrics import METRICS
from ...units import GB, MB
from ..decide import strength
from ..frame import describe
from ..growth import in_words
from ..matters import GROWN_BYTES, SHARE
from .base import Finding, Line, Source, Tables, as_factor, lines_of, reads

# What a cell of table `growth` is, beside its stack.
_CELL = ("experiment", *(axis for axis in AXES if axis != "stack"))


@reads("growth")
def _growth(tables: Tables) -> Iterator[Finding]:
    """How memory grows with the input: stacks that the roles compare, by document, and what is in no such pair."""
    growth = tables["growth"]
    lines = lines_of(growth[growth["cache"] == "cold"])
    told = set()
    for place, line in enumerate(lines):
        if line["difference_verdict"] not in ("better", "worse", "differs"):
            continue
        other = next((i for i, one in enumerate(lines) if _beside(one, line)), None)
        if other is None:
            continue
        told |= {place, other}
        apart, low, high = (line[f"difference_{end}"] / 1000 for end in ("mb_per_gb", "low", "high"))
        yield Finding(
            f"{line['stack']} keeps {abs(apart):,.2f} MB {'less' if apart < 0 else 'more'} anonymous memory per MB of "
            f"text than {line['against']}",
            f"{_where(line)}: paired by document, {apart:+,.2f} MB per MB of text (95 % {low:+,.2f} to {high:+,.2f}). "
            f"{line['against']} {in_words(lines[other])}; {line['stack']} {in_words(line)}.{_not_weighed(line)}",
            "growth_by_input",
            str(line["experiment"]),
            math.exp(line["difference_strength"]),
        )
    for place, line in enumerate(lines):
        if place not in told:
            yield Finding(
                f"{line['stack']}: anonymous memory {in_words(line, short=True)}",
                f"{_where(line)}: {in_words(line)}.{_not_weighed(line)}",
                "growth_by_input",
                str(line["experiment"]),
                math.exp(_grows_for_sure(line)),
            )


def _beside(one: Line, line: Line) -> bool:
    """Whether a line is what another is held against: the baseline in the same cell."""
    alike = [str(one[axis]) == str(line[axis]) for axis in _CELL if axis in line]
    return all(alike) and str(one["stack"]) == str(line["against"])


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
    """Of each stack the cell that grew most and whose owner is known."""
    known = tables["verdicts"]
    best: dict[str, Line] = {}
    for line in lines_of(known[known["verdict"].isin(["held", "leak", "retained"])]):
        if line["anon_grown_bytes"] > best.get(line["stack"], {"anon_grown_bytes": 0})["anon_grown_bytes"]:
            best[line["stack"]] = line
    for stack, line in best.items():
        yield Finding(
            f"{stack}: {line['verdict']} by {line['owner']}",
            f"{line['sentence']} Evidence: {line['evidence']}.",
            "who_holds_it",
            str(line["experiment"]),
            1 + math.log10(max(line["anon_grown_bytes"] / (16 * MB), 1)),
        )


@reads("remedies")
def _remedies(tables: Tables) -> Iterator[Finding]:
    """What is told to people and does nothing."""
    remedies = tables["remedies"]
    growth = remedies[remedies["metric"] == "grown_anon_bytes"]
    for stack, group in growth.groupby("stack", sort=False):
        idle = group[group["effect"] == "nothing"]
        if len(idle):
            names = ", ".join(f"{row['remedy']} ({row['low']:.2f} to {row['high']:.2f})" for row in lines_of(idle))
            yield Finding(
                f"Does nothing for the growth ({stack}): {', '.join(idle['remedy'])}",
                f"Growth with it over growth without it lies within {SHARE:.0%} of 1, with 95 % intervals: {names}.",
                "what_helps",
                str(idle["experiment"].iloc[0]),
                1.0,
            )


@reads("regrowth")
def _regrowth(tables: Tables) -> Iterator[Finding]:
    """Repeated work that does not level off."""
    regrowth = tables["regrowth"]
    for row in lines_of(regrowth[regrowth["regrowth"] == "grows"]):
        what = ", ".join([str(row["stack"]), *describe(row, ("subject", "case", "between"))])
        slope, low, high = (row[f"slope_bytes{end}"] / MB for end in ("", "_low", "_high"))
        yield Finding(
            f"Grows with every epoch: {what}",
            f"{slope:,.2f} MB an epoch (95 % {low:,.2f} to {high:,.2f}), each over the same "
            f"{row['epoch_input_bytes'] / MB:,.0f} MB of input.",
            "memory_by_epoch",
            str(row["experiment"]),
            1 + row["slope_bytes"] / max(row["epoch_input_bytes"], 1),
        )


@reads("ladders")
def _version_steps(tables: Tables) -> Iterator[Finding]:
    """Between which releases something changed."""
    steps = tables["ladders"]
    for line in lines_of(steps[steps["significant"].astype(bool)]):
        metric = METRICS[line["metric"]]
        unit, scale = ("MB", MB) if metric.unit == "bytes" else (metric.unit, 1)
        first, second = line["from_value"] / scale, line["to_value"] / scale
        sure: str = "" if pd.isna(line["low"]) else f"95 % {line['low']:.3f} to {line['high']:.3f}, "
        known = f"ratio {line['ratio']:.3f} ({sure}n = {line['n']})"
        release, besides = f"{line['factor']} {line['to_version']}", "Everything"
        if isinstance(line.get("moved"), str) and line["moved"]:
            release += " and what moved with it"
            besides = f"With {line['moved']}, since not both can be installed otherwise. Everything"
        yield Finding(
            f"{release}: {second:,.0f} {unit}, where {line['from_version']} has {first:,.0f}",
            f"{besides} else as stack {line['stack']} locks it, {line['metric']} goes from {first:,.0f} to "
            f"{second:,.0f} {unit} between these two {'neighbouring ' if line['neighbours'] else ''}releases: {known}.",
            "versions",
            str(line["experiment"]),
            min(as_factor(line["ratio"]), 1000),
        )


@reads("limits")
def _limits(tables: Tables) -> Iterator[Finding]:
    """How much memory is really needed, and how far readings are from it."""
    limits = tables["limits"]
    for line in lines_of(limits.dropna(subset=["completed_at_bytes", "killed_at_bytes"])):
        needed, rss = line["completed_at_bytes"], line["peak_rss_bytes"]
        cell = ", ".join(str(line[axis]) for axis in ("stack", "mode") if isinstance(line.get(axis), str))
        yield Finding(
            f"{line['experiment']}, {cell}: needs {needed / MB:,.0f} MB, and shows {rss / MB:,.0f} MB of RSS",
            f"It is killed under {line['killed_at_bytes'] / MB:,.0f} MB and completes under {needed / MB:,.0f} MB, "
            f"there in {line['time_ratio']:.2f} times the time. Nearest: {line['nearest_predictor']}. From one run "
            f"without a limit, `beyond-ram watch` would ask a scheduler for {line['ask_bytes'] / MB:,.0f} MB.",
            "smallest_limit",
            str(line["experiment"]),
            as_factor(rss / needed),
        )


SOURCES: tuple[Source, ...] = (_growth, _version_steps, _limits, _owners, _remedies, _regrowth)
