"""Findings on what grew, who held it, and how much is needed."""

import math
from collections.abc import Iterator

import pandas as pd

from ...experiment import AXES
from ...metrics import METRICS
from ...units import GB, MB
from ..decide import AT_LEAST, strength
from ..frame import cells, describe
from ..growth import in_words
from ..matters import EPOCH_BYTES, GROWN_BYTES, LEAST, SHARE
from .base import Finding, Line, Source, Tables, as_factor, failures, lines_of, reads

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
    """Of each stack the cell that grew most, of those whose owner is known."""
    known = tables["verdicts"]
    known = known[known["verdict"].isin(["held", "leak", "retained"])]
    for stack, group in known.groupby("stack", sort=False):
        lines = lines_of(group)
        line = max(lines, key=lambda line: line["anon_grown_bytes"])
        several = f"Of {len(lines)} cells of this stack with a known owner it is the one that grew most."
        more = several if len(lines) > 1 else "It is the only cell of this stack with a known owner."
        repeats = "one run" if line["n"] == 1 else f"each of {line['n']:.0f} runs"
        title = {
            "held": f"{line['owner']} held most of what grew",
            "leak": f"{line['owner']} grew with every epoch",
            "retained": f"{line['owner']} kept most of what grew, though nobody held it",
        }[line["verdict"]]
        yield Finding(
            f"{stack}: {title}, in {repeats}",
            f"{line['sentence']} {more}{failures(line)} Evidence: {line['evidence']}.",
            "who_holds_it",
            str(line["experiment"]),
            math.exp(
                strength(
                    line["anon_grown_bytes_low"], line["anon_grown_bytes_high"], line["imported_anon_bytes"],
                    as_ratio=False,
                )
            ),
        )  # fmt: skip


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
        )


def _missing(value: object) -> bool:
    """Whether a table has no such value."""
    return value is None or value != value


def _ratio(line: Line) -> str:
    """A ratio, its interval and n; where what grows is too small for one, how much that is."""
    if _missing(line["low"]):
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
        ends: str = "" if _missing(line["low"]) else f"95 % {line['low']:.3f} to {line['high']:.3f}, "
        ratio: str = "" if _missing(line["ratio"]) else f"ratio {line['ratio']:.3f} "
        known = f"{ratio}({ends}n = {line['n']:.0f})"
        near = "neighbouring " if line["neighbours"] else ""
        release, besides = f"{line['factor']} {line['to_version']}", "Everything"
        if isinstance(line.get("moved"), str) and line["moved"]:
            release += " and what moved with it"
            besides = f"With {line['moved']}, since not both can be installed otherwise. Everything"
        yield Finding(
            f"{release}: {second:,.0f} {unit}, where {line['from_version']} has {first:,.0f}",
            f"{besides} else as stack {line['stack']} locks it, the median of {line['metric']} goes from "
            f"{first:,.0f} to {second:,.0f} {unit} between these two {near}releases: {known}.{failures(line)}",
            "versions",
            str(line["experiment"]),
            _sure_factor(line["low"], line["high"]),
        )


def _sure_factor(low: float, high: float) -> float:
    """The end of a ratio's interval that is nearest to 1, as a factor; 1 where it is not known."""
    if _missing(low) or low <= 0:
        return as_factor(high) if high < 1 else 1.0
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
        cell = ", ".join([str(line["stack"]), *describe(line, ("mode", "size_mb"))])
        counted = "one bisection" if n == 1 else f"{n} bisections"
        probes = group["probes"].sum() if "probes" in group else math.nan
        tried = "" if _missing(probes) else f" of {probes:.0f} runs under limits"
        nearest = ", ".join(dict.fromkeys(str(one["nearest_predictor"]) for one in lines))
        yield Finding(
            f"{line['experiment']}, {cell}: needs {low:,.0f} to {high:,.0f} MB, and shows {_range(rss)} MB of RSS",
            f"In {counted}{tried} it was killed under {low:,.0f} MB and completed under {high:,.0f} MB, there in "
            f"{_range(group['time_ratio'], '.2f')} times the time without a limit. Of the readings without one "
            f"nearest: {nearest}. From such a run `beyond-ram watch` asks a scheduler for {_range(ask)} MB."
            f"{failures(line)}",
            "smallest_limit",
            str(line["experiment"]),
            # One bisection says nothing of how much another would differ.
            1.0 if n < AT_LEAST else _sure_factor(rss.min() / high, rss.max() / low),
        )


def _range(values: "pd.Series[float]", form: str = ",.0f") -> str:
    """The lowest and the highest of some values; one where they are written alike."""
    low, high = format(values.min(), form), format(values.max(), form)
    return low if low == high else f"{low} to {high}"


SOURCES: tuple[Source, ...] = (_growth, _version_steps, _limits, _owners, _remedies, _regrowth)
