"""The smallest memory limit of a cell, and which readings of a run without one predict it."""

from .base import CLOCK, EXACT, Column, Metric, Record

PREDICTORS = {
    "rss_bytes": "peak RSS",
    "anon_bytes": "peak anonymous, sampled",
    "anon_upper_bound_bytes": "peak anonymous, upper bound",
    "cgroup_bytes": "cgroup peak",
}
"""Readings of the run without a memory limit, each a guess at the smallest one; in the order of the figure.

PSS is none of them: the largest of some ten readings that cost too much to be taken at the peak lies below it."""

ENDED_AT = {"killed_at_limit": "killed_at_bytes", "timed_out": "timed_out_at_bytes", "failed": "failed_at_bytes"}
"""The largest limit under which a run ended so, by its outcome."""


def ended_at(probe: Record) -> str:
    """Where the limit of a run belongs whose work was not done. Only what the kernel has killed was killed."""
    return ENDED_AT.get(probe["outcome"], ENDED_AT["failed"])


_PROBED = "a bisection of whole runs under a limit of the kernel's, to 5 %"
_PAIRED = "pairs of runs with and without a limit, until one answer leads by three; to 5 %"
_OF_PROBE = "of the run that completed nearest to the limit"

COLUMNS: list[Column] = [
    Column("killed_at_bytes", "Largest memory limit that killed", "bytes", ("limits",),
        "largest limit under which the kernel killed it", _PROBED, direction="lower"),
    Column("timed_out_at_bytes", "Largest memory limit that was too slow", "bytes", ("limits",),
        "largest limit under which the work was not done in time",
        f"{_PROBED}; ten times as long as without a limit, and a minute more", direction="lower"),
    Column("failed_at_bytes", "Largest memory limit that it failed under", "bytes", ("limits",),
        "largest limit under which it ended without its work, not killed for memory", _PROBED, direction="lower"),
    Column("completed_at_bytes", "Smallest memory limit that completed", "bytes", ("limits",),
        "smallest limit under which the work was done", _PROBED, direction="lower"),
    Metric("smallest_limit_bytes", "Smallest memory limit that completed", "bytes", ("loaders",),
        "completed_at_bytes of table limits", _PROBED,
        lambda record, _: record.get("limit", {}).get("completed_at_bytes"), direction="lower"),
    Column("ask_bytes", "What to ask a scheduler for", "bytes", ("limits",),
        "what could not be reclaimed and 10 %, mapped files up to 40 MiB, 4 MiB of room; see watch.md",
        "one rule for the terminal, this table and the workflow's requests: error_ask says how far off it is",
        direction="lower"),
    Column("slowed_at_bytes", "Largest memory limit that slowed it down", "bytes", ("limits",),
        "largest limit under which it was not shown to keep its share of speed", _PAIRED, direction="lower"),
    Column("speed_kept_at_bytes", "Smallest memory limit that keeps the speed", "bytes", ("limits",),
        "smallest limit under which it keeps the share speed_share of its speed without one", _PAIRED,
        direction="lower"),
    Column("speed_share", "Share of the speed that was to be kept", "share", ("limits",),
        "limit_speed_share of the experiment", EXACT),
    Column("speed_kept_share", "Speed at the smallest memory limit that keeps it", "share", ("limits",),
        "time until the work is done without a limit / time with it, median over the pairs", _PAIRED,
        direction="higher"),
    Column("speed_pairs", "Pairs of runs for the speed", "runs", ("limits",), "with and without a limit, in all",
        EXACT),
    Column("probes", "Runs under a memory limit", "runs", ("limits",), "steps of the bisection", EXACT),
    Column("error_PREDICTOR", "Error of a predictor", "share", ("limits",),
        f"the reading / completed_at_bytes - 1: {', '.join(PREDICTORS.values())}, and what to ask for",
        "as good as the reading; the limit itself is known to 5 %",
        names=(*(f"error_{name.removesuffix('_bytes')}" for name in PREDICTORS), "error_ask")),
    Column("time_ratio", "Time at the smallest memory limit", "ratio", ("limits",),
        f"time {_OF_PROBE} / time without one", CLOCK, direction="lower"),
    Column("major_faults_at_limit", "Major faults at the smallest memory limit", "faults", ("limits",),
        f"major faults of the tree {_OF_PROBE}", "the kernel's counts", direction="lower"),
]  # fmt: skip
