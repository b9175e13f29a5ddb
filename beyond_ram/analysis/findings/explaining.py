"""Findings on what grew, who held it, and how much is needed."""

import math
from collections.abc import Iterator

import pandas as pd

from ...metrics import METRICS
from ...units import MB
from ..compare import ratio
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
    """What lowers growth most, and what is told to people and does nothing."""
    remedies = tables["remedies"]
    growth = remedies[remedies["metric"] == "grown_anon_bytes"]
    for stack, group in growth.groupby("stack", sort=False):
        helps = group[group["effect"] == "helps"].sort_values("ratio")
        idle = group[group["effect"] == "nothing"]
        if len(helps):
            best = helps.iloc[0]
            yield Finding(
                f"{best['remedy']} takes {1 - best['ratio']:.0%} of the growth away ({stack})",
                f"Growth of anonymous memory {best['without'] / MB:,.0f} MB without, {best['with'] / MB:,.0f} MB with: "
                f"ratio {best['ratio']:.2f} (95 % {best['low']:.2f} to {best['high']:.2f}, n = {best['n']}).",
                "what_helps",
                str(best["experiment"]),
                as_factor(best["ratio"]),
            )
        if len(idle):
            names = ", ".join(f"{row['remedy']} ({row['low']:.2f} to {row['high']:.2f})" for row in lines_of(idle))
            yield Finding(
                f"Does nothing for the growth ({stack}): {', '.join(idle['remedy'])}",
                f"Growth with it over growth without it lies within {SHARE:.0%} of 1, with 95 % intervals: {names}.",
                "what_helps",
                str(idle["experiment"].iloc[0]),
                1.0,
            )


@reads("runs")
def _encoders(tables: Tables) -> Iterator[Finding]:
    """As many ids by another call, for less: runs of `soak` that differ in nothing but the subject."""
    runs = tables["runs"]
    usual, fast = "transformers", "tokenizers-fast"
    tried = runs[
        runs["subject"].isin([usual, fast]) & runs["completed_work"].astype(bool) & runs["between"].eq("nothing")
    ]
    for cell, group in same_but_for(tried, "subject"):
        sides = {subject: group[group["subject"] == subject] for subject in (usual, fast)}
        if any(side.empty for side in sides.values()) or group["token_count"].nunique() != 1:
            continue
        peaks = ratio(*(side["peak_grown_anon_bytes"].tolist() for side in sides.values()))
        speeds = ratio(*(side["tokens_per_cpu_s"].tolist() for side in sides.values()))
        if not peaks.significant or peaks.ratio > 1:
            continue
        version = group["version_transformers"].dropna().iloc[0]
        yield Finding(
            f"transformers {version} peaks at {1 / peaks.ratio:.1f} times the memory of {fast} ({cell['stack']})",
            f"Peak above the imports, for as many ids: {_by_call(group)}; {fast} over {usual}: "
            f"ratio {peaks.ratio:.2f} (95 % {peaks.low:.2f} to {peaks.high:.2f}); ids per CPU-second "
            f"{speeds.ratio:.2f} times ({speeds.low:.2f} to {speeds.high:.2f}); n = {len(sides[fast])}.",
            "encoders",
            str(cell["experiment"]),
            as_factor(peaks.ratio),
        )


def _by_call(runs: pd.DataFrame) -> str:
    """The median peak of each call, the largest first."""
    peaks = runs.groupby("subject")["peak_grown_anon_bytes"].median().sort_values(ascending=False) / MB
    return ", ".join(f"{peak:,.0f} MB by {subject}" for subject, peak in peaks.items())


@reads("runs")
def _batches(tables: Tables) -> Iterator[Finding]:
    """What a larger batch does to the peak."""
    runs = tables["runs"]
    done = runs[
        runs["completed_work"].astype(bool) & runs["cache"].eq("cold") & runs["remedy"].fillna("none").eq("none")
    ]
    for cell, group in same_but_for(done, "batch_size", "writer_batch_size"):
        for varied, other in (("batch_size", "writer_batch_size"), ("writer_batch_size", "batch_size")):
            lowest = group[group[other] == group[other].min()]
            small, large = lowest[varied].min(), lowest[varied].max()
            if small == large:
                continue
            sides = [lowest.loc[lowest[varied] == size, "peak_grown_anon_bytes"] for size in (small, large)]
            found = ratio(*(side.tolist() for side in sides))
            if not found.significant or found.ratio < 1:
                continue
            first, second = (side.median() / MB for side in sides)
            bytes_in = group["bytes_in"].median()
            yield Finding(
                f"{varied} {large:.0f} instead of {small:.0f}: {found.ratio:.1f} times the peak ({cell['stack']})",
                f"Over the same {bytes_in / MB:,.0f} MB of text in "
                f"{group['rows'].median():,.0f} documents the peak above the imports is {first:,.0f} MB with "
                f"{small:.0f}, {second:,.0f} MB with {large:.0f}: ratio {found.ratio:.2f} (95 % "
                f"{found.low:.2f} to {found.high:.2f}, n = {min(map(len, sides))} each).",
                "peak_by_batch",
                str(cell["experiment"]),
                as_factor(found.ratio),
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


SOURCES: tuple[Source, ...] = (_growth, _version_steps, _limits, _owners, _remedies, _encoders, _batches, _regrowth)
