"""The smallest memory limit of a cell, and the readings of a run without a limit that predict it."""

from collections.abc import Mapping
from typing import Any

from .base import CLOCK, EXACT, Column

PREDICTORS = {
    "rss_bytes": "peak RSS",
    "anon_bytes": "peak anonymous, sampled",
    "anon_upper_bound_bytes": "peak anonymous, upper bound",
    "cgroup_bytes": "cgroup peak",
}
"""Readings of the run without a limit that may predict the smallest one, in the order of the figure.

PSS is not among them: it is read only about ten times, so its largest reading is below the peak."""

ENDED_AT = {"killed_at_limit": "killed_at_bytes", "timed_out": "timed_out_at_bytes", "failed": "failed_at_bytes"}
"""By outcome: the column with the largest limit under which a run ended like this."""


def ended_at(probe: Mapping[str, Any]) -> str:
    """Return the column for the limit of a run that did not finish its work."""
    return ENDED_AT.get(probe["outcome"], ENDED_AT["failed"])


_PROBED = "by a bisection of whole runs under the kernel's limit, to 3 %"
_OF_PROBE = "of the slowest run under `completed_at_bytes`"

COLUMNS: list[Column] = [
    Column("ended_at_bytes", "Largest limit that did not suffice", "bytes", ("limits",),
        "the largest limit under which a run did not finish its work; `ended` says how it ended there",
        f"{_PROBED}; the time limit is ten times the time without a limit, plus 5 seconds", direction="lower"),
    Column("ended_runs", "Runs that ended there", "runs", ("limits",),
        "runs under `ended_at_bytes` that ended as `ended` says, of `ended_of_runs`", EXACT,
        names=("ended_runs", "ended_of_runs")),
    Column("completed_at_bytes", "Smallest limit that completed", "bytes", ("limits",),
        "smallest limit under which all `completed_runs` did the work", _PROBED, direction="lower"),
    Column("completed_runs", "Runs at the smallest limit", "runs", ("limits",),
        "runs under `completed_at_bytes`, all of which completed: 3, or fewer if the budget ended the search", EXACT),
    Column("probes", "Runs under a memory limit", "runs", ("limits",), "steps of the bisection", EXACT),
    Column("error_PREDICTOR", "Error of a predictor", "share", ("limits",),
        f"the reading / completed_at_bytes - 1: {', '.join(PREDICTORS.values())}, and the memory request",
        "as exact as the reading; the limit is known to 3 %",
        names=(*(f"error_{name.removesuffix('_bytes')}" for name in PREDICTORS), "error_ask")),
    Column("time_ratio", "Time at the smallest limit", "ratio", ("limits",),
        f"time {_OF_PROBE} / time without one", CLOCK, direction="lower"),
]  # fmt: skip
