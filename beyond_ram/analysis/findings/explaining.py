"""Findings on what grew, who held it, and how much is needed."""

import math
from collections.abc import Iterator

import pandas as pd

from ...metrics import METRICS
from ...units import MB
from ..frame import describe, same_but_for
from ..matters import SHARE
from .base import Finding, Line, Source, Tables, as_factor, lines_of, reads


@reads("growth")
def _growth(tables: Tables) -> Iterator[Finding]:
    """Stacks against each other: how much anonymous memory a gigabyte of input leaves behind."""
    growth = tables["growth"].dropna(subset="anon_slope_mb_per_gb_low")
    for _, group in same_but_for(growth[growth["cache"] == "cold"], "stack"):
        lines = lines_of(group)
        high = max(lines, key=lambda line: line["anon_slope_mb_per_gb"])
        low = min(lines, key=lambda line: line["anon_slope_mb_per_gb"])
        if high["anon_slope_mb_per_gb_low"] <= low["anon_slope_mb_per_gb_high"]:
            continue
        yield Finding(
            f"{high['stack']} keeps {high['anon_slope_mb_per_gb'] / 1000:,.1f} GB of anonymous memory per GB of text",
            f"Mode {high['mode']}, corpus {high['corpus']}: {_slope(high)}; {low['stack']}: {_slope(low)}.",
            "growth_by_input",
            str(high["experiment"]),
            as_factor(high["anon_slope_mb_per_gb"] / max(low["anon_slope_mb_per_gb_high"], 1)),
        )


def _slope(line: Line) -> str:
    low, high = line["anon_slope_mb_per_gb_low"], line["anon_slope_mb_per_gb_high"]
    return f"{line['anon_slope_mb_per_gb']:,.0f} MB per GB (95 % {low:,.0f} to {high:,.0f}, n = {line['n']:.0f})"


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
