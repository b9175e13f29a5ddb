"""Table `remedies`: what a remedy does to growth, peak and speed, against the same cell without one."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from .comparisons import of, ratio_of
from .frame import Cell, axes, where

SHOWN = ("grown_anon_bytes", "peak_grown_anon_bytes", "tokens_per_cpu_s")
"""The metrics in which a remedy is compared with no remedy."""
COLUMNS = [
    "experiment",
    "stack",
    "remedy",
    "metric",
    "without",
    "with",
    "ratio",
    "low",
    "high",
    "n",
    "result",
    "reason",
]


def remedies(comparisons: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """A line per cell, remedy and metric: the result of table `comparisons`, or `not run` with the reason.

    If only a difference was compared, because growth is near zero, `ratio` is 1 plus the difference over the growth
    without the remedy, and its interval leaves out the scatter of the latter.
    """
    lines = [*_decided(of(comparisons, "remedy")), *_not_run(runs)]
    return pd.DataFrame(lines, columns=None if lines else COLUMNS)


def _decided(compared: pd.DataFrame) -> Iterator[dict[str, Any]]:
    held = axes(compared)
    for line in compared[compared["metric"].isin(SHOWN)].to_dict("records"):
        row = {str(axis): line[axis] for axis in held} | {
            "metric": line["metric"],
            "n": line["n"],
            "reason": line["reason"],
        }
        row |= {"without": line["baseline"], "with": line["candidate"]}
        row |= ratio_of({str(name): value for name, value in line.items()})
        yield row | {"result": line["result"]}


def _not_run(runs: pd.DataFrame) -> Iterator[Cell]:
    """Remedies that could not be tried here, and why."""
    absent = where(runs, outcome="not_applicable")
    if "remedy" not in absent:
        return
    absent = absent[absent["remedy"].notna() & absent["remedy"].ne("none")]
    held = axes(absent)
    for line in absent.drop_duplicates(held).to_dict("records"):
        for metric in SHOWN:
            yield {
                **{str(axis): line[axis] for axis in held},
                "metric": metric,
                "n": 0,
                "result": "not run",
                "reason": line["reason"],
            }
