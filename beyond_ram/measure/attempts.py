"""A command under a memory limit, started again until it completes."""

import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from ..records import cell_runs
from ..records.run_files import RUN_FILES
from ..records.run_json import AttemptEntry, MemoryEntry, RunRecord

MOST = 12
"""The most attempts."""
_POINTS = 300
_READINGS = ("rss_bytes", "anon_bytes", "kept_bytes")


def again_until_done(run_once: Callable[[], RunRecord], out: Path) -> RunRecord:
    """Run a command until it completes. Return the last record with all `attempts`, each as `attempt`
    describes it.

    It ends early if an attempt that was killed finished no more shards than the one before it: the
    next would not either.
    """
    attempts = list[AttemptEntry]()
    while True:
        record = run_once()
        if record["outcome"] == "not_applicable":
            return record
        attempts.append(attempt(record, out))
        done = [len(one["shards"]) for one in attempts[-2:]]
        if record["outcome"] != "killed_at_limit" or len(attempts) == MOST or (len(done) == 2 and done[1] <= done[0]):
            record["attempts"] = attempts
            return record


def attempt(record: RunRecord, out: Path) -> AttemptEntry:
    """One attempt: its outcome, time, peak, memory over time and after each shard."""
    shards: list[MemoryEntry] = [
        {"t_s": event["t_s"], "from_cache": event["from_cache"], **_readings(event.get("tree", {}))}
        for event in cell_runs.events(out)
        if event["event"] == "shard"
    ]
    return {
        "outcome": record["outcome"],
        "duration_s": record["duration_s"],
        "peak_bytes": record["peak"]["rss_bytes"],
        "shards": shards,
        "course": _course(out / RUN_FILES[0]),
    }


def _course(samples: Path) -> list[MemoryEntry]:
    """At most `_POINTS` readings: of each equal share of the samples, the one with the largest RSS."""
    with samples.open(newline="") as file:
        rows = list(csv.DictReader(file))
    share = -(-len(rows) // _POINTS) or 1
    highest = (
        max(rows[at : at + share], key=lambda row: float(row["rss_bytes"] or 0)) for at in range(0, len(rows), share)
    )
    return [{"t_s": float(row["t_s"]), **_readings(row)} for row in highest]


def _readings(row: Mapping[str, Any]) -> MemoryEntry:
    readings = {name: float(row[name]) for name in _READINGS if row.get(name) not in (None, "")}
    return cast(MemoryEntry, readings)
