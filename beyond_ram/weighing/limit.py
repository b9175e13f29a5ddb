"""The smallest memory limit under which a cell completes, by bisection with real limits."""

import math
import sys
from pathlib import Path
from typing import Any

from ..advice import advise
from ..metrics.limits import ENDED_AT, ended_at
from ..watch import LimitError
from .cell import Setting, check_end, finish, prepare, weighed
from .private import private_folder

# Where to stop: the smallest limit that was enough over the largest that was not.
TOLERANCE = 0.05
# First steps away from the guess, down while it is enough and up while it is not.
_DOWN, _UP = 0.7, 1.3
_FLOOR_BYTES = 8 << 20
# Close to its limit a program may read the same pages again and again. It counts as not completing when it takes this
# many times as long as without a limit, and some seconds more.
_PATIENCE, _PATIENCE_S = 10, 60


def weigh_limit(setting: Setting, runs: Path) -> None:
    """Weigh a run without a limit into its folder, then look for the smallest limit, and put both into run.json.

    Every probe begins anew: private folder, prepared input, nothing of it in the page cache. Pages that another process
    has read are not charged to it. Raises WeighingError where the run failed, or it
    or a probe was ended from outside.
    """
    out = runs / setting.job.path
    with private_folder(setting.work, setting.job.path) as work:
        prepare(setting, work)
        record = weighed(setting, work, out)
        if record["outcome"] != "not_applicable":
            record["limit"] = {"ask_bytes": advise(record).ask_bytes}
        finish(setting, work, out, record, last=lambda: _look(setting, record))


def _look(setting: Setting, record: dict[str, Any]) -> None:
    """Bisect between what is enough and what is not, geometrically."""
    if record["outcome"] == "not_applicable":
        return
    found = record["limit"] | {
        "tolerance": TOLERANCE,
        "completed_at_bytes": None,
        **dict.fromkeys(ENDED_AT.values()),
        "probes": [],
    }
    record["limit"] = found
    limit = max(record["peak"]["anon_upper_bound_bytes"] + (record["peak"]["shmem_bytes"] or 0), _FLOOR_BYTES)
    try:
        while limit:
            probe = _probe(setting, limit, _PATIENCE * record["duration_s"] + _PATIENCE_S)
            found["probes"].append(probe)
            found["completed_at_bytes" if probe["completed_work"] else ended_at(probe)] = limit
            limit = _next(
                max(filter(None, map(found.get, ENDED_AT.values())), default=None), found["completed_at_bytes"]
            )
    except LimitError as reason:
        found["not_run"] = str(reason)


def _next(too_small: int | None, completed: int | None) -> int | None:
    """The limit to try next; None where there is nothing left to find out."""
    if completed is None:
        return round((too_small or _FLOOR_BYTES) * _UP)
    if too_small is None:
        return max(round(completed * _DOWN), _FLOOR_BYTES) if completed > _FLOOR_BYTES else None
    return round(math.sqrt(too_small * completed)) if completed > too_small * (1 + TOLERANCE) else None


def _probe(setting: Setting, limit_bytes: int, timeout_s: float) -> dict[str, Any]:
    with (
        private_folder(setting.work, f"limit/{setting.job.path}") as work,
        private_folder(setting.work, f"probe/{setting.job.path}") as out,
    ):
        prepare(setting, work)
        record = weighed(setting, work, out, memory_limit_bytes=limit_bytes, timeout_s=timeout_s)
    check_end(setting.job, record)
    done = "done" if record["completed_work"] else "not done"
    said = f"{limit_bytes / 1e6:,.0f} MB: {record['outcome']}, work {done}, {record['duration_s']:.1f} s"
    print(f"{setting.job.path}: {said}", file=sys.stderr)
    return {
        "limit_bytes": limit_bytes,
        **{key: record[key] for key in ("outcome", "completed_work", "duration_s", "cpu_s")},
        "major_faults": record["faults"]["major"],
        "read_bytes": record["storage"]["read_bytes"],
        "cgroup_bytes": record["peak"]["cgroup_bytes"],
    }
