"""Table `limits`: the smallest memory limit of a cell, and how far readings of a run without a limit are from it."""

from collections.abc import Mapping
from typing import Any, cast

import pandas as pd

from ..metrics import Record, Records
from ..metrics.limits import ENDED_AT, PREDICTORS, ended_at
from ..metrics.runs import request_bytes

COLUMNS = ["experiment", "stack", "ended_at_bytes", "ended", "completed_at_bytes", "request_bytes", "not_run"]


def limits(records: Records) -> pd.DataFrame:
    """One line per run whose smallest limit was searched. Sizes in bytes; errors as shares of `completed_at_bytes`.

    `time_ratio` is the time of the slowest run at the limit, over the time without a limit. If no limit can
    be set, `not_run` gives the reason and all other columns are empty.
    """
    lines = [_line(record) for record, _ in records if "limit" in record]
    return pd.DataFrame(lines, columns=None if lines else COLUMNS)


_ENDED = {"killed_at_limit": "killed", "timed_out": "not done in time", "failed": "failed"}


def _line(record: Record) -> dict[str, Any]:
    limit, peak = (cast(Mapping[str, Any], record[name]) for name in ("limit", "peak"))
    # A failed run says nothing about the needed memory.
    if not record["completed_work"]:
        limit = {"not_run": limit.get("not_run") or f"{record['outcome']}: {record.get('reason', '')}"}
    at, ended = max(((limit.get(name) or 0, word) for word, name in ENDED_AT.items()), key=lambda one: one[0])
    completed, ask = limit.get("completed_at_bytes"), request_bytes(record)
    probes = limit.get("probes", [])
    at_limit, at_end = ([probe for probe in probes if probe["limit_bytes"] == size] for size in (completed, at))
    line: dict[str, Any] = {
        **record["cell"],
        "bytes_in": record.get("work", {}).get("bytes_in"),
        "ended_at_bytes": at or None,
        "ended": _ENDED[ended] if at else None,
        "ended_runs": sum(not one["completed_work"] and ended_at(one) == ENDED_AT[ended] for one in at_end) or None,
        "ended_of_runs": len(at_end) or None,
        "completed_at_bytes": completed,
        "completed_runs": len(at_limit) or None,
        **{f"peak_{name}": peak[name] for name in PREDICTORS},
        "request_bytes": ask,
        "probes": len(probes),
        "not_run": limit.get("not_run", ""),
    }
    errors = {name: size / completed - 1 for name in PREDICTORS if completed and (size := peak[name]) is not None}
    line |= {f"error_{name.removesuffix('_bytes')}": errors.get(name) for name in PREDICTORS}
    line["error_ask"] = ask / completed - 1 if completed and ask else None
    slowest = max(at_limit, key=lambda probe: probe["duration_s"], default=None)
    line["time_ratio"] = slowest["duration_s"] / record["duration_s"] if slowest else None
    return line
