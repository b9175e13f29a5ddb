"""The smallest memory limit of a cell, and which readings of a run without one predict it."""

from .base import CLOCK, EXACT, Column, Metric, Record

PREDICTORS = {
    "rss_bytes": "peak RSS",
    "pss_bytes": "largest PSS reading",
    "anon_bytes": "peak anonymous, sampled",
    "anon_upper_bound_bytes": "peak anonymous, upper bound",
    "cgroup_bytes": "cgroup peak",
}
"""Readings of the run without a memory limit, each a guess at the smallest one; in the order of the figure."""

ENDED_AT = {"killed_at_limit": "killed_at_bytes", "timed_out": "timed_out_at_bytes", "failed": "failed_at_bytes"}
"""The largest limit under which a run ended so, by its outcome."""


def ended_at(probe: Record) -> str:
    """Where the limit of a run belongs whose work was not done. Only what the kernel has killed was killed."""
    return ENDED_AT.get(probe["outcome"], ENDED_AT["failed"])


_PROBED = "a bisection of whole runs under a limit of the kernel's, to 5 %"
_OF_PROBE = "of the run that completed nearest to the limit"

COLUMNS: list[Column] = [
    Column(
        key="killed_at_bytes", label="Largest memory limit that killed", unit="bytes", direction="lower",
        tables=("limits",), derivation="largest limit under which the kernel killed it", trust=_PROBED,
    ),
    Column(
        key="timed_out_at_bytes", label="Largest memory limit that was too slow", unit="bytes", direction="lower",
        tables=("limits",), derivation="largest limit under which the work was not done in time",
        trust=f"{_PROBED}; ten times as long as without a limit, and a minute more",
    ),
    Column(
        key="failed_at_bytes", label="Largest memory limit that it failed under", unit="bytes", direction="lower",
        tables=("limits",), derivation="largest limit under which it ended without its work, not killed for memory",
        trust=_PROBED,
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
