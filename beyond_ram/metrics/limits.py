"""The smallest memory limit of a cell, and which readings of a run without one predict it."""

from .base import CLOCK, EXACT, Column, Metric

PREDICTORS = {
    "rss_bytes": "peak RSS",
    "pss_bytes": "largest PSS reading",
    "anon_bytes": "peak anonymous, sampled",
    "anon_upper_bound_bytes": "peak anonymous, upper bound",
    "cgroup_bytes": "cgroup peak",
}
"""Readings of the run without a memory limit, each a guess at the smallest one; in the order of the figure."""

_PROBED = "a bisection of whole runs under a limit of the kernel's, to 5 %"
_OF_PROBE = "of the run that completed nearest to the limit"

COLUMNS: list[Column] = [
    Column(
        key="killed_at_bytes", label="Largest memory limit that killed", unit="bytes", direction="lower",
        tables=("limits",), derivation="largest limit under which the work was not done", trust=_PROBED,
    ),
    Column(
        key="completed_at_bytes", label="Smallest memory limit that completed", unit="bytes", direction="lower",
        tables=("limits",), derivation="smallest limit under which the work was done", trust=_PROBED,
    ),
    Metric(
        key="smallest_limit_bytes", label="Smallest memory limit that completed", unit="bytes", direction="lower",
        tables=("loaders",), derivation="completed_at_bytes of table limits", trust=_PROBED,
        derive=lambda record, _: record.get("limit", {}).get("completed_at_bytes"),
    ),
    Column(
        key="ask_bytes", label="What to ask a scheduler for", unit="bytes", direction="lower", tables=("limits",),
        derivation="what could not be reclaimed and 10 %, mapped files up to 40 MiB, 4 MiB of room; see watch.md",
        trust="one rule for the terminal, this table and the workflow's requests: error_ask says how far off it is",
    ),
    Column(
        key="probes", label="Runs under a memory limit", unit="runs", tables=("limits",),
        derivation="steps of the bisection", trust=EXACT,
    ),
    Column(
        key="error_PREDICTOR", label="Error of a predictor", unit="share", tables=("limits",),
        names=(*(f"error_{name.removesuffix('_bytes')}" for name in PREDICTORS), "error_ask"),
        derivation=f"the reading / completed_at_bytes - 1: {', '.join(PREDICTORS.values())}, and what to ask for",
        trust="as good as the reading; the limit itself is known to 5 %",
    ),
    Column(
        key="time_ratio", label="Time at the smallest memory limit", unit="ratio", direction="lower",
        tables=("limits",), derivation=f"time {_OF_PROBE} / time without one", trust=CLOCK,
    ),
    Column(
        key="major_faults_at_limit", label="Major faults at the smallest memory limit", unit="faults",
        direction="lower", tables=("limits",), derivation=f"major faults of the tree {_OF_PROBE}",
        trust="the kernel's counts",
    ),
]  # fmt: skip
