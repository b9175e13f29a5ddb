"""Table `loaders`: the rows that each loader delivers, its speed and its memory."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ..metrics import Events, Record, Records, derive
from ..metrics.base import last
from ..metrics.loading import ACCOUNT
from ..units import MB
from .decide import Mean, geometric
from .frame import describe
from .noise import NO_SPREAD, Spread, spreads_of
from .outcomes import by_cell, outcome

AVERAGED = ["rows_per_cpu_s", "rows_per_cpu_s_warm"]
_REACHED = ("rows_per_s_reached", "read_per_byte", "duration_s", "read_ahead_bytes")
"""What runs have that did not finish, too."""
# Columns of an empty table.
COLUMNS = ["experiment", "stack", "tokens", "loader", "order", "workers", "start", "page_cache", "limit_percent"]
COLUMNS += ["outcome", "n", *AVERAGED, "disk_ratio", *ACCOUNT, "end_pss_bytes", "held_bytes"]
COLUMNS += [*_REACHED, "lends", "account"]
_SET = ("advice", "readahead", "torch_threads")
"""Settings of a loader that are part of its name on figures."""
EVERY_ROW_ONCE, AS_MANY = "every row once", "as many rows as expected"


def loaders(records: Records, session_spread: pd.DataFrame | None = None) -> pd.DataFrame:
    """One line per cell of workload `load`.

    All numbers are over the `n` repeats that finished. Rates are geometric means: of the first epoch, and of the warm
    epochs after it; none where these are too short. `_low` and `_high` are 95 % intervals, which cover other sessions
    as far as `session_spread` has the metric.

    Sizes are medians in bytes. `copied_bytes` is the growth of anonymous PSS from the
    first batch to the end; with forked workers this is copy-on-write. Row accounts are the worst of the repeats, summed
    up in `account`. `lends` is `yes` if a kept batch had changed in the end.
    """
    cells = by_cell((record, _run(record, events)) for record, events in records if record.get("workload") == "load")
    spreads = spreads_of(session_spread)
    lines = [cell | _merged(repeats, spreads) for cell, repeats in cells]
    return pd.DataFrame(lines, columns=None if lines else COLUMNS)


def by_way(table: pd.DataFrame) -> pd.DataFrame:
    """The table with each loader named with its settings."""
    names = [", ".join([line["loader"], *describe(line, _SET)]) for _, line in table.iterrows()]
    return table.assign(loader=names) if names else table


def whole(table: pd.DataFrame) -> pd.DataFrame:
    """The lines that finished without a limit and have memory, each loader named with its settings. Figures draw
    these."""
    if "held_bytes" not in table:
        return table.head(0)
    return by_way(table[(table["limit_percent"] == 0) & table["held_bytes"].notna()])


def _finished(run: Mapping[str, Any]) -> bool:
    return run["outcome"] == "completed" and "rows_delivered" in run


def _run(record: Record, events: Events) -> dict[str, Any]:
    line: dict[str, Any] = {key: record[key] for key in ("outcome", "completed_work")}
    line["reason"] = record.get("reason") or _why(record)
    work, measured = last(events, "work"), derive(record, events, "loaders")
    if not work:
        return line | {name: measured[name] for name in _REACHED}
    from_events = {
        "rows_per_worker": list(work["rows_per_worker"].values()) if "rows_per_worker" in work else None,
        "loader_kind": work.get("loader_kind"),
        "shuffle": work.get("shuffle"),
        "lends": {True: "yes", False: "no", None: None}[work.get("lends")],
    }
    return line | {key: measured[key] for key in ACCOUNT} | from_events | measured


def _why(record: Record) -> str:
    if record["outcome"] == "killed_at_limit":
        return f"killed at its limit of {(record['memory_limit_bytes'] or 0) / MB:,.0f} MB"
    return "not done in time" if record["outcome"] == "timed_out" else ""


def _merged(repeats: Sequence[Mapping[str, Any]], spreads: Mapping[str, Spread]) -> dict[str, Any]:
    """The runs of a cell as one line. The outcome is that of all runs; numbers are from those that finished."""
    finished = [run for run in repeats if _finished(run)]
    failed = [run for run in repeats if not _finished(run)]
    overall = outcome(run["outcome"] for run in repeats)
    reason = next(run["reason"] for run in repeats if run["outcome"] == overall)
    line: dict[str, Any] = {"outcome": overall, "reason": reason, "n": len(finished)}
    table = pd.DataFrame(finished)
    for column in table.columns.difference(["outcome", "reason"], sort=False):
        values = table[column].dropna()
        if column in AVERAGED:
            # If one run is too short for a rate, the mean would be over fewer runs than n.
            whole = len(values) == len(table) and len(values)
            spread = spreads.get(column, NO_SPREAD)
            rate = geometric(values.astype(float).tolist(), spread) if whole else Mean()
            line |= {column: rate.mean, f"{column}_low": rate.low, f"{column}_high": rate.high}
        elif values.empty:
            line[column] = None
        elif column == "lends" or column in ACCOUNT[2:]:
            line[column] = values.max()  # once seen is seen
        elif column == "rows_per_worker":
            line[column] = str(values.iloc[-1])
        else:
            line[column] = values.median() if pd.api.types.is_numeric_dtype(values) else values.iloc[-1]
    reached, read, took_s, ahead = ([run[name] for run in repeats if run.get(name) is not None] for name in _REACHED)
    rates = [rate for rate in reached if rate]
    line["rows_per_s_reached"] = geometric(rates).mean if rates else None
    line |= {f"rows_per_s_reached_{end.__name__}": end(rates) if rates else None for end in (min, max)}
    line["read_per_byte"] = statistics.median(read) if read else None
    line["duration_s"] = statistics.median(took_s) if took_s else None
    line["read_ahead_bytes"] = next(filter(None, ahead), None)
    reasons = [str(run["reason"] or run["outcome"]) for run in failed]
    why = [f"{reason} ({reasons.count(reason)} of {len(repeats)} runs)" for reason in dict.fromkeys(reasons)]
    if not finished:
        return line | {"account": why[0].rpartition(" (")[0] if len(repeats) == 1 else "; ".join(why)}
    some = f" in {len(finished)} of {len(repeats)} runs" if failed else ""
    return line | {"account": "; ".join([account(line) + some, *why])}


def account(line: Mapping[str, Any]) -> str:
    """The delivered rows in words. The user's own data may have no row numbers: then only the count."""
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
