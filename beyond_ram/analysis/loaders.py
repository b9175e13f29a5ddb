"""Table `loaders`: what each loader delivers, and what it costs."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from .compare import Mean, mean

Record = Mapping[str, Any]
Events = Sequence[Mapping[str, Any]]
Records = Iterable[tuple[Record, Events]]

ACCOUNT = ["rows_expected", "rows_delivered", "rows_twice", "rows_missing", "rows_wrong"]
MEMORIES = ["rss_bytes", "anon_bytes", "file_bytes", "shmem_bytes", "pss_bytes", "uss_bytes", "pss_anon_bytes"]
# Of the limits that a run measured, the one that each order is held against.
LIMIT_OF = {"sequential": "sequential", "shuffled": "random"}
AVERAGED = ["rows_per_cpu_s", "share_of_limit", "rows_per_s"]
# Of a table without lines, which is read like any other.
COLUMNS = ["experiment", "stack", "tokens", "loader", "order", "workers", "start", "page_cache", "limit_percent"]
COLUMNS += ["outcome", "n", *AVERAGED, "time_to_first_batch_s", "disk_ratio", *ACCOUNT, "end_pss_bytes", "account"]
OF_A_LOADER = ("stack", "loader", "start", "advice")
"""The axes that belong to a way of loading; on the others two loaders that are compared must agree."""
EVERY_ROW_ONCE, AS_MANY = "every row once", "as many rows as expected"


def loaders(records: Records) -> pd.DataFrame:
    """A line a cell of the workload `load`.

    Rates are those of the last epoch: geometric means over repeats with their 95 % interval in `_low` and `_high`,
    and n. `share_of_limit` holds the rate against reading the same rows without a loader in the same run. Sizes are
    medians, in bytes; `copied_bytes` is what anonymous PSS grew by from the first batch to the end, which with forked
    workers is copying on write. Accounts are the worst of the repeats, summed up in `account`.
    """
    cells: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for record, events in records:
        if record.get("workload") == "load":
            cell = {key: value for key, value in record["cell"].items() if key != "rep"}
            cells.setdefault(tuple(cell.items()), []).append(_run(record, events))
    lines = [dict(cell) | _merged(repeats) for cell, repeats in cells.items()]
    return pd.DataFrame(lines, columns=None if lines else COLUMNS)


def _run(record: Record, events: Events) -> dict[str, Any]:
    found: dict[str, Any] = {"outcome": record["outcome"], "reason": record.get("reason") or _why(record)}
    work = last(events, "work")
    if not work:
        return found
    epochs = [event for event in events if event["event"] == "epoch"]
    first_epoch = epochs[0]
    limits = {event["kind"]: event["rows"] / event["cpu_s"] for event in events if event["event"] == "limit"}
    found |= {key: work.get(key) for key in (*ACCOUNT, "rows_per_worker", "loader_kind", "shuffle", "stored_bytes")}
    found |= {f"end_{kind}": tree(phase(events, "delivered"), work).get(kind) for kind in MEMORIES}
    found |= {f"first_batch_{kind}": tree(phase(events, "after the first batch")).get(kind) for kind in MEMORIES}
    found |= {f"limit_{kind}_rows_per_cpu_s": rate for kind, rate in limits.items()}
    found |= _rates(work, "") | _rates(first_epoch, "_first_epoch")
    limit = limits.get(LIMIT_OF[record["cell"]["order"]])
    found["share_of_limit"] = found["rows_per_cpu_s"] / limit if limit else None
    opened = last(events, "baseline")
    found["time_to_first_batch_s"] = first_epoch["time_to_first_batch_s"]
    found |= {key: opened.get(key) for key in ("opened_s", "pickled_bytes")}
    found["disk_ratio"] = work["stored_bytes"] / work["bytes_in"] if work.get("bytes_in") else None
    found["copied_bytes"] = _difference(found["end_pss_anon_bytes"], found["first_batch_pss_anon_bytes"])
    begins = next(event for event in events if event["event"] == "epoch_begins")
    found["read_bytes"] = _difference(*(tree(event).get("read_bytes") for event in (first_epoch, begins)))
    found["peak_anon_bytes"] = record["peak"].get("anon_bytes")
    found["peak_cgroup_bytes"] = record["peak"].get("cgroup_bytes")
    found |= {f"input_{key}": value for key, value in _residency(record).items()}
    found["smallest_limit_bytes"] = record.get("limit", {}).get("completed_at_bytes")
    return found


def _difference(end: float | None, begin: float | None) -> float | None:
    return None if end is None or begin is None else end - begin


def _residency(record: Record) -> dict[str, Any]:
    cache = record.get("page_cache", {})
    return {key: cache.get(f"input_{key}") for key in ("resident_before", "resident_after")}


def _why(record: Record) -> str:
    if record["outcome"] == "killed_at_limit":
        return f"killed at its limit of {record['memory_limit_bytes'] / 1e6:,.0f} MB"
    return "not done in time" if record["outcome"] == "timed_out" else ""


def _rates(epoch: Mapping[str, Any], suffix: str) -> dict[str, float | None]:
    rows = epoch["rows_delivered"]
    return {
        f"rows_per_cpu_s{suffix}": rows / epoch["cpu_s"] if epoch["cpu_s"] else None,
        f"rows_per_s{suffix}": rows / epoch["duration_s"],
    }


def last(events: Events, name: str) -> Mapping[str, Any]:
    return next((event for event in reversed(events) if event["event"] == name), {})


def phase(events: Events, name: str) -> Mapping[str, Any]:
    return next((event for event in events if event["event"] == "phase" and event["phase"] == name), {})


def tree(*candidates: Mapping[str, Any]) -> Mapping[str, Any]:
    """The reading of the tree at the first of some events that has one with PSS, or at all."""
    trees = [event["tree"] for event in candidates if "tree" in event]
    return next((tree for tree in trees if "pss_bytes" in tree), trees[0] if trees else {})


def _merged(repeats: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Several runs of a cell as one line; the worst outcome stands for all."""
    worst = max(repeats, key=lambda run: run["outcome"] != "completed")
    line: dict[str, Any] = {"outcome": worst["outcome"], "reason": worst["reason"], "n": len(repeats)}
    table = pd.DataFrame(repeats)
    for column in table.columns.difference(["outcome", "reason"], sort=False):
        values = table[column].dropna()
        if column in AVERAGED:
            found = mean(values.astype(float).tolist()) if len(values) else Mean(math.nan, math.nan, math.nan)
            line |= {column: found.mean, f"{column}_low": found.low, f"{column}_high": found.high}
        elif column in ACCOUNT[2:]:
            line[column] = values.max() if len(values) else None
        elif column == "rows_per_worker":
            line[column] = str(values.iloc[-1]) if len(values) else None
        elif pd.api.types.is_numeric_dtype(values) and len(values):
            line[column] = values.median()
        else:
            line[column] = values.iloc[-1] if len(values) else None
    return line | {"account": account(line)}


def account(line: Mapping[str, Any]) -> str:
    """What became of the rows, in words. Those of data that is not ours may have no numbers: then only their count."""
    if line.get("rows_delivered") is None or pd.isna(line["rows_delivered"]):
        return str(line["reason"] or line["outcome"])
    faults = [
        f"{int(line[f'rows_{kind}']):,} {kind}" for kind in ("missing", "twice", "wrong") if line.get(f"rows_{kind}")
    ]
    if faults:
        return ", ".join(faults)
    if pd.notna(line.get("rows_missing")):
        return EVERY_ROW_ONCE
    delivered, expected = int(line["rows_delivered"]), line.get("rows_expected")
    if pd.isna(expected):
        return "rows not numbered"
    return AS_MANY if delivered == expected else f"{delivered:,} of {int(expected):,} rows, not numbered"
