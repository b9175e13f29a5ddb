"""Table `loaders`: what each loader delivers, and what it costs."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ..metrics import Events, Record, Records, derive
from ..metrics.base import last
from ..metrics.loading import ACCOUNT
from ..units import MB
from .compare import Mean, mean
from .frame import describe
from .outcomes import of_how_many, outcome

AVERAGED = ["rows_per_cpu_s", "share_of_limit", "rows_per_s"]
# Of a table without lines, which is read like any other.
COLUMNS = ["experiment", "stack", "tokens", "loader", "order", "workers", "start", "page_cache", "limit_percent"]
COLUMNS += ["outcome", "n", *AVERAGED, "time_to_first_batch_s", "disk_ratio", *ACCOUNT, "end_pss_bytes", "account"]
OF_A_LOADER = ("stack", "loader", "start", "advice", "option")
"""The axes that belong to a way of loading; on the others two loaders that are compared must agree."""
EVERY_ROW_ONCE, AS_MANY = "every row once", "as many rows as expected"


def loaders(records: Records) -> pd.DataFrame:
    """A line a cell of the workload `load`.

    Rates are those of the last epoch: geometric means over repeats with their 95 % interval in `_low` and `_high`,
    and n. `share_of_limit` is the share of the read ceiling: of the rate without a loader in the same run. Sizes are
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


def by_way(table: pd.DataFrame) -> pd.DataFrame:
    """The table with each loader named by its way of loading: by advice and option too, where it has any."""
    names = [", ".join([line["loader"], *describe(line, ("advice", "option"))]) for _, line in table.iterrows()]
    return table.assign(loader=names) if names else table


def whole(table: pd.DataFrame) -> pd.DataFrame:
    """The lines with a rate and without a limit, by way of loading: those that figures of rates draw."""
    if "end_pss_bytes" not in table or "rows_per_cpu_s" not in table:
        return table.head(0)
    rated = table["rows_per_cpu_s"].notna() & table["end_pss_bytes"].notna()
    return by_way(table[(table["limit_percent"] == 0) & rated])


def _run(record: Record, events: Events) -> dict[str, Any]:
    found: dict[str, Any] = {key: record[key] for key in ("outcome", "completed_work")}
    found["reason"] = record.get("reason") or _why(record)
    work = last(events, "work")
    if not work:
        return found
    measured = derive(record, events, "loaders")
    # A list in runs kept from before.
    per_worker = work.get("rows_per_worker")
    per_worker = list(per_worker.values()) if isinstance(per_worker, Mapping) else per_worker
    said = {"rows_per_worker": per_worker, **{key: work.get(key) for key in ("loader_kind", "shuffle")}}
    return found | {key: measured[key] for key in ACCOUNT} | said | measured


def _why(record: Record) -> str:
    if record["outcome"] == "killed_at_limit":
        return f"killed at its limit of {record['memory_limit_bytes'] / MB:,.0f} MB"
    return "not done in time" if record["outcome"] == "timed_out" else ""


def _merged(repeats: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Several runs of a cell as one line: its outcome and account are of all, the rest of those that finished."""
    table = pd.DataFrame(repeats)
    done, came_to = table[table["completed_work"]], outcome(table["outcome"])
    line: dict[str, Any] = {"outcome": came_to, "reason": table.loc[table["outcome"] == came_to, "reason"].iloc[0]}
    line["n"] = len(done)
    for column in table.columns.difference(["outcome", "completed_work", "reason"], sort=False):
        # What went wrong in one repeat went wrong, and what one did until it was killed is known of it.
        values = (done if len(done) and column not in ACCOUNT[2:] else table)[column].dropna()
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
    return line | {"account": account(line) + (of_how_many(len(done), len(table)) if len(done) else "")}


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
