"""Findings: what the tables show, in sentences, strongest first. Each is computed; none is written down beforehand."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from .remedies import MATTERS

MB = 1e6
Tables = Mapping[str, pd.DataFrame]
Line = dict[str, Any]


@dataclass(frozen=True)
class Finding:
    """One paragraph. `strength` orders them: the effect as a factor, where 2 and one half are as strong."""

    title: str
    text: str
    figure: str
    """The figure that shows it, by name."""
    target: str
    """What snakemake is to make to see it alone: a figure, or the folder of a run (`runs/…`)."""
    strength: float


def findings(tables: Tables) -> list[Finding]:
    """Everything that the tables show, strongest first."""
    found = [finding for source in SOURCES for finding in source(tables)]
    return sorted(found, key=lambda finding: -finding.strength)


def _factor(ratio: float) -> float:
    return max(ratio, 1 / ratio) if ratio > 0 else 1.0


def _growth(tables: Tables) -> Iterator[Finding]:
    """Stacks against each other: how much anonymous memory a gigabyte of input leaves behind."""
    growth = tables["growth"].dropna(subset="anon_slope_mb_per_gb_low")
    groups: dict[tuple[Any, ...], list[Line]] = {}
    for line in _lines(growth[growth["cache"] == "cold"]):
        groups.setdefault(tuple(line[axis] for axis in ("corpus", "mode", "batch_size")), []).append(line)
    for lines in groups.values():
        high = max(lines, key=lambda line: line["anon_slope_mb_per_gb"])
        low = min(lines, key=lambda line: line["anon_slope_mb_per_gb"])
        if high["anon_slope_mb_per_gb_low"] <= low["anon_slope_mb_per_gb_high"]:
            continue
        yield Finding(
            f"{high['stack']} keeps {high['anon_slope_mb_per_gb'] / 1000:,.1f} GB of anonymous memory per GB of text",
            f"Mode {high['mode']}, corpus {high['corpus']}: {_slope(high)}; {low['stack']}: {_slope(low)}.",
            "growth_by_input",
            "figures/growth_by_input.svg",
            _factor(high["anon_slope_mb_per_gb"] / max(low["anon_slope_mb_per_gb_high"], 1)),
        )


def _slope(line: Line) -> str:
    low, high = line["anon_slope_mb_per_gb_low"], line["anon_slope_mb_per_gb_high"]
    return f"{line['anon_slope_mb_per_gb']:,.0f} MB per GB (95 % {low:,.0f} to {high:,.0f}, n = {line['n']:.0f})"


def _owners(tables: Tables) -> Iterator[Finding]:
    """Of each stack the cell that grew most and whose owner is known."""
    known = tables["verdicts"]
    best: dict[str, Line] = {}
    for line in _lines(known[known["verdict"].isin(["held", "leak", "retained"])]):
        if line["anon_grown_bytes"] > best.get(line["stack"], {"anon_grown_bytes": 0})["anon_grown_bytes"]:
            best[line["stack"]] = line
    for stack, line in best.items():
        yield Finding(
            f"{stack}: {line['verdict']} by {line['owner']}",
            f"{line['sentence']} Evidence: {line['evidence']}.",
            "who_holds_it",
            f"runs/{line['run']}/run.json",
            1 + math.log10(max(line["anon_grown_bytes"] / (16 * MB), 1)),
        )


def _remedies(tables: Tables) -> Iterator[Finding]:
    """What lowers growth most, and what is told to people and does nothing."""
    remedies = tables["remedies"]
    growth = remedies[remedies["metric"] == "grown_anon_bytes"] if len(remedies) else remedies
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
                "figures/what_helps.svg",
                _factor(best["ratio"]),
            )
        if len(idle):
            names = ", ".join(f"{row['remedy']} ({row['low']:.2f} to {row['high']:.2f})" for row in _lines(idle))
            yield Finding(
                f"Does nothing for the growth ({stack}): {', '.join(idle['remedy'])}",
                f"Growth with it over growth without it lies within {MATTERS:.0%} of 1, with 95 % intervals: {names}.",
                "what_helps",
                "figures/what_helps.svg",
                1.0,
            )


def _regrowth(tables: Tables) -> Iterator[Finding]:
    """Repeated work that does not level off."""
    regrowth = tables["regrowth"]
    for row in _lines(regrowth[regrowth["regrowth"] == "grows"]):
        what = ", ".join(str(row[axis]) for axis in ("stack", "subject", "case", "between") if row.get(axis))
        slope, low, high = (row[f"slope_bytes{end}"] / MB for end in ("", "_low", "_high"))
        yield Finding(
            f"Grows with every epoch: {what}",
            f"{slope:,.2f} MB an epoch (95 % {low:,.2f} to {high:,.2f}), each over the same "
            f"{row['epoch_input_bytes'] / MB:,.0f} MB of input.",
            "memory_by_epoch",
            "figures/memory_by_epoch.svg",
            1 + row["slope_bytes"] / max(row["epoch_input_bytes"], 1),
        )


def _lines(table: pd.DataFrame) -> list[Line]:
    return [{str(key): value for key, value in line.items()} for line in table.to_dict("records")]


SOURCES: tuple[Callable[[Tables], Iterator[Finding]], ...] = (_growth, _owners, _remedies, _regrowth)
