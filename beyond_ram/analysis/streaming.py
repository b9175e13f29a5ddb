"""Table `streaming`: requests, rows, time and memory of a client."""

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from ..experiment import WORKLOADS
from ..metrics import Events, Record, Records, derive
from ..metrics.base import last
from ..metrics.loading import ACCOUNT
from ..metrics.streaming import KINDS, ROLES, requests_column
from .frame import cells
from .outcomes import outcome

# Each line has the median, minimum and maximum of these over the repeats.
SPREAD = (
    *("resolution_s", "time_to_first_batch_s", "rows_per_s"),
    *(f"peak_{kind}_bytes" for kind in ("rss", "anon", "anon_once", "pss")),
    "worker_anon_bytes",
    "worker_grown_anon_bytes",
)
COUNTS = (
    *("requests", "requests_metadata", "requests_data", "requests_listing_of_workers", "requests_failed"),
    *("bytes_received", "in_flight_max", "endpoint_busy_s"),
)
COLUMNS = ["experiment", *WORKLOADS["stream"].axes(), "n", "outcome", "reason", *SPREAD, *COUNTS]
COLUMNS += [*ACCOUNT, "rows_per_worker"]


def streaming(records: Records) -> pd.DataFrame:
    """One line per cell. Medians are over the `n` repeats that finished their work, wrong rows over all repeats.

    If no repeat finished, counts and rows are those until the clients gave up. Counts are None if none of our endpoints
    counted them. `requests_KIND_ROLE` counts requests of one kind by processes of one role. `counts_identical` says
    whether every repeat made the same requests. `_min` and `_max` are the smallest and largest repeat, not an interval.
    """
    runs = pd.DataFrame([_run(record, events) for record, events in records])
    if runs.empty:
        return pd.DataFrame(columns=COLUMNS)
    runs = runs.reindex(columns=[*runs, *(column for column in COLUMNS if column not in runs)])
    return pd.DataFrame([_cell(cell, group) for cell, group in cells(runs)])


def _run(record: Record, events: Events) -> dict[str, Any]:
    requests = record["work"].get("requests")
    # A client that gave up reports no totals, only the values until then.
    until = last(events, "epoch")
    measured = derive(record, events, "streaming")
    return {
        **record["cell"],
        "outcome": record["outcome"],
        "reason": record.get("reason", ""),
        **{key: measured[key] for key in (*SPREAD, *COUNTS, *ACCOUNT)},
        "rows_per_worker": record["work"].get("rows_per_worker", until.get("rows_per_worker")),
        "completed_work": record["completed_work"],
        "requests_json": json.dumps(requests, sort_keys=True),
        **_by_kind_and_role(requests),
    }


def _by_kind_and_role(requests: Mapping[str, Mapping[str, int]] | None) -> dict[str, int | None]:
    return {
        requests_column(kind, role): None if requests is None else requests.get(kind, {}).get(role, 0)
        for kind in KINDS
        for role in ROLES
    }


def _cell(line: dict[str, Any], runs: pd.DataFrame) -> dict[str, Any]:
    done, tried = runs[runs["completed_work"]], runs
    line |= {"n": len(done), "outcome": outcome(runs["outcome"])}
    line["reason"] = str(runs.loc[runs["outcome"] == line["outcome"], "reason"].mode().iloc[0])
    # If no client completed, use the requests until they gave up.
    runs = done if len(done) else tried
    for name in SPREAD:
        line |= _spread(name, done[name])
    for name in COUNTS:
        line[name] = pd.to_numeric(runs[name]).median()
    for name in ("requests", "requests_metadata", "requests_listing_of_workers"):
        line |= _spread(name, runs[name])
    line["counts_identical"] = runs["requests_json"].nunique() == 1 if len(runs) > 1 and line["requests"] >= 0 else None
    for name in ACCOUNT:
        values = pd.to_numeric(tried[name] if name in ACCOUNT[2:] else runs[name]).dropna()
        # An error in one repeat counts for the cell.
        line[name] = values.max() if name not in ("rows_expected", "rows_delivered") else values.median()
    per_worker = runs["rows_per_worker"].dropna()
    line["rows_per_worker"] = json.dumps(per_worker.iloc[0], sort_keys=True) if len(per_worker) else None
    return line | {name: pd.to_numeric(runs[name]).median() for name in _by_kind_and_role(None)}


def _spread(name: str, values: "pd.Series[Any]") -> dict[str, float]:
    """The median, smallest and largest value of the repeats."""
    numbers = pd.to_numeric(values).astype(float)
    return {name: numbers.median(), f"{name}_min": numbers.min(), f"{name}_max": numbers.max()}
