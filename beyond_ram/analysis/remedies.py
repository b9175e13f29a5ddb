"""Table `remedies`: the effect of a remedy on growth, peak and speed, compared with the same cell without one."""

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
    """One line per cell, remedy and metric: the result of table `comparisons`, or `not run` with the reason.

    If growth is near zero, only a difference is compared. Then `ratio` is 1 plus the difference over the growth without
    the remedy, and its interval leaves out the scatter of that growth.
    """
    lines = [*_decided(of(comparisons, "remedy")), *_not_run(runs)]
    return pd.DataFrame(lines, columns=None if lines else COLUMNS)


def _decided(compared: pd.DataFrame) -> Iterator[dict[str, Any]]:
    cell_axes = axes(compared)
    for line in compared[compared["metric"].isin(SHOWN)].to_dict("records"):
        row = {str(axis): line[axis] for axis in cell_axes} | {
            "metric": line["metric"],
            "n": line["n"],
            "reason": line["reason"],
        }
        row |= {"without": line["baseline"], "with": line["candidate"]}
        row |= ratio_of({str(name): value for name, value in line.items()})
        yield row | {"result": line["result"]}


def _not_run(runs: pd.DataFrame) -> Iterator[Cell]:
    """Remedies that could not be tried on this machine, and why."""
    absent = where(runs, outcome="not_applicable")
    if "remedy" not in absent:
        return
    absent = absent[absent["remedy"].notna() & absent["remedy"].ne("none")]
    cell_axes = axes(absent)
    for line in absent.drop_duplicates(cell_axes).to_dict("records"):
        for metric in SHOWN:
            yield {
                **{str(axis): line[axis] for axis in cell_axes},
                "metric": metric,
                "n": 0,
                "result": "not run",
                "reason": line["reason"],
            }
