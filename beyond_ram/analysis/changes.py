"""Table `changes`: the lines of table `comparisons` that compare stacks, worst first."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from ..metrics import METRICS
from ..metrics.runs import FAILED
from ..units import amount, percent
from .frame import describe, varied
from .outcomes import COUNTS
from .thresholds import ABSURD, threshold_of

COLUMNS = ["experiment", "stack", "axis", "before", "after", "family", "metric", "baseline", "candidate", "ratio"]
COLUMNS += ["difference", "low", "high", "p", "p_corrected", "n", "result", "reason", "threshold", "detectable"]
COLUMNS += ["machines", *COUNTS]
UNKNOWN = "unknown"
ORDER = ("worse", "undecided", "better", "same")


def changes(comparisons: pd.DataFrame) -> pd.DataFrame:
    """The comparisons of a stack with its baseline, worst first. `threshold` is in words."""
    table = comparisons[comparisons["axis"] == "stack"]
    table = table.assign(threshold=[_threshold(line) for line in table.to_dict("records")])
    place = {result: number for number, result in enumerate(ORDER)}
    order = table.assign(_place=table["result"].map(place), _strength=-table["strength"].fillna(0.0))
    table = table.loc[order.sort_values(["_place", "_strength"], kind="stable").index]
    cell = list(comparisons)[: list(comparisons).index("workload")]
    return table[[*cell, *COLUMNS[2:]]]


def _threshold(line: Mapping[Any, Any]) -> str:
    """The threshold of a line in words."""
    threshold = threshold_of(line["metric"])
    least = f"{in_unit(line['metric'], threshold.least)}" if threshold.least else ""
    if line["exact"]:
        return f"{least} or more" if threshold.least else "none"
    return f"{percent(threshold.share)}, at least {least}" if least else percent(threshold.share)


def in_unit(metric: str, value: float, *, signed: bool = False) -> str:
    """A value of a metric with its unit; bytes as MB, failed runs as a share of the runs."""
    if metric == FAILED and not math.isnan(value):
        return f"{100 * value:{'+' if signed else ''}.0f} %"
    return amount(value, METRICS[metric].unit, signed=signed)


def in_words(table: pd.DataFrame) -> list[dict[str, str]]:
    """The lines of the table as text, for a page or a terminal."""
    conditions = [axis for axis in varied(table) if axis not in ("experiment", "stack")]
    return [_line(line, conditions) for line in table.to_dict("records")]


def _line(line: Mapping[Any, Any], conditions: list[str]) -> dict[str, str]:
    metric = str(line["metric"])
    as_ratio = not pd.isna(line["ratio"])
    effect = [
        f"{line[name]:,.3f}" if as_ratio else in_unit(metric, line[name], signed=True)
        for name in ("ratio" if as_ratio else "difference", "low", "high")
    ]
    exact = line["low"] == line["high"]
    interval = "the same in every repeat" if exact else f"{effect[1]} to {effect[2]}"
    notes = [line["machines"], line["not_completed"], line["reason"] if line["result"] != "undecided" else ""]
    return {
        "result": str(line["result"]),
        "metric": METRICS[metric].label,
        "cell": ", ".join([str(line["experiment"]), *describe(dict(line), conditions)]),
        "sides": f"{line['before']} and {line['after']}",
        "baseline": in_unit(metric, line["baseline"]) or UNKNOWN,
        "candidate": in_unit(metric, line["candidate"]) or UNKNOWN,
        "effect": f"{effect[0]} times" if as_ratio else effect[0] or UNKNOWN,
        "interval": "" if pd.isna(line["low"]) else interval,
        "p": "" if pd.isna(line["p_corrected"]) else f"{line['p_corrected']:.2g}",
        "n": f"{line['n']:.0f}",
        "threshold": str(line["threshold"]),
        "reason": str(line["reason"]),
        "detectable": _detectable(line) if line["result"] == "undecided" else "",
        "notes": "; ".join(str(note) for note in notes if isinstance(note, str) and note),
    }


def _detectable(line: Mapping[Any, Any]) -> str:
    """The change that half of such runs would confirm, in words."""
    smallest = line["detectable"]
    if pd.isna(smallest):
        return ""
    if pd.isna(line["ratio"]):
        return in_unit(str(line["metric"]), smallest, signed=True)
    return f"over {ABSURD} times" if smallest >= ABSURD else f"{smallest:,.2f} times"


def counts(table: pd.DataFrame) -> str:
    """Number of lines by result."""
    numbers = table["result"].value_counts()
    return ", ".join(f"{numbers[result]} {result}" for result in ORDER if result in numbers) or "nothing compared"
