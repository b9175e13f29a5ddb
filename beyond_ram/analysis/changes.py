"""Table `changes`: what candidates changed against their baselines, worst first."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from ..metrics import METRICS
from ..units import amount
from .frame import describe, varied
from .outcomes import COUNTS
from .thresholds import ABSURD, bound_of

COLUMNS = ["experiment", "stack", "axis", "before", "after", "metric", "baseline", "candidate", "ratio", "difference"]
COLUMNS += ["low", "high", "p", "p_corrected", "n", "verdict", "bound", "could_see", "machines", *COUNTS]
ORDER = ("worse", "better", "not enough data", "same")


def changes(comparisons: pd.DataFrame) -> pd.DataFrame:
    """The lines of table `comparisons` that hold a stack against its baseline, worst first.

    `worse` and `better` are shown and matter; `same` lies whole within `bound`; all else is `not enough data`, with
    what could have been seen. What differs and has no better, as the number of tokens, is `worse`: the two did not do
    the same work.
    """
    table = comparisons[comparisons["axis"] == "stack"]
    table = table.assign(
        verdict=[verdict(line) for line in table.to_dict("records")],
        bound=[_bound(line) for line in table.to_dict("records")],
    )
    place = {verdict: number for number, verdict in enumerate(ORDER)}
    order = table.assign(_place=table["verdict"].map(place), _strength=-table["strength"].fillna(0.0))
    table = table.loc[order.sort_values(["_place", "_strength"], kind="stable").index]
    cell = list(comparisons)[: list(comparisons).index("workload")]
    return table[[*cell, *COLUMNS[2:]]]


def verdict(line: Mapping[Any, Any]) -> str:
    """What a line of table `comparisons` says of the candidate."""
    if line["verdict"] in ("better", "worse", "differs") and line["matters"]:
        return "better" if line["verdict"] == "better" else "worse"
    return "same" if line["verdict"] == "same" else "not enough data"


def _bound(line: Mapping[Any, Any]) -> str:
    """What is too little to matter, in words."""
    known = bound_of(line["metric"])
    least = f"{in_unit(line['metric'], known.least)}" if known.least else ""
    if line["exact"]:
        return f"under {least}" if known.least else "none"
    return " or ".join([f"{known.share:.0%}", *([least] if least else [])])


def in_unit(metric: str, value: float, *, signed: bool = False) -> str:
    """A value of a metric with its unit; bytes as MB."""
    return amount(value, METRICS[metric].unit, signed=signed)


def in_words(table: pd.DataFrame) -> list[dict[str, str]]:
    """The lines of the table for a page or a terminal: the metric, where, both sides, by how much, how sure."""
    conditions = [axis for axis in varied(table) if axis not in ("experiment", "stack")]
    return [_line(line, conditions) for line in table.to_dict("records")]


def _line(line: Mapping[Any, Any], conditions: list[str]) -> dict[str, str]:
    metric = str(line["metric"])
    as_ratio = not pd.isna(line["ratio"])
    effect = [
        f"{line[name]:,.3f}" if as_ratio else in_unit(metric, line[name], signed=True)
        for name in ("ratio" if as_ratio else "difference", "low", "high")
    ]
    return {
        "verdict": str(line["verdict"]),
        "metric": METRICS[metric].label,
        "cell": ", ".join([str(line["experiment"]), *describe(dict(line), conditions)]),
        "sides": f"{line['before']} and {line['after']}",
        "baseline": in_unit(metric, line["baseline"]),
        "candidate": in_unit(metric, line["candidate"]),
        "effect": f"{effect[0]} times" if as_ratio else effect[0],
        "interval": ""
        if pd.isna(line["low"])
        else "the same in every repeat"
        if line["low"] == line["high"]
        else f"{effect[1]} to {effect[2]}",
        "p": "" if pd.isna(line["p_corrected"]) else f"{line['p_corrected']:.2g}",
        "n": f"{line['n']:.0f}",
        "bound": str(line["bound"]),
        "could_see": ""
        if line["verdict"] != "not enough data" or pd.isna(line["could_see"])
        else f"over {ABSURD} times"
        if as_ratio and line["could_see"] >= ABSURD
        else f"{line['could_see']:,.2f} times"
        if as_ratio
        else in_unit(metric, line["could_see"], signed=True),
        "notes": "; ".join(str(note) for note in (line["machines"], line["why"]) if isinstance(note, str) and note),
    }


def counts(table: pd.DataFrame) -> str:
    """How many lines have which verdict, in words."""
    known = table["verdict"].value_counts()
    return ", ".join(f"{known[verdict]} {verdict}" for verdict in ORDER if verdict in known) or "nothing"
