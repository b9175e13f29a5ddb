"""Find the smallest memory limit under which a cell completes, by bisection with real limits."""

import math
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..advice import advise
from ..experiment import records
from ..files import end_of
from ..metrics.limits import ENDED_AT, ended_at
from ..watch import LimitError, WatchOptions
from .cell import MeasuringError, Setting, check_end, finish, prepare, run_once
from .files_read import FilesRead
from .private import private_folder
from .scripts import ERRORS, failure

# Stop at this ratio of the smallest sufficient limit to the largest insufficient limit.
TOLERANCE = 0.03
# The largest step away from the guess is the tolerance to this power, 1.27. A search for speed goes up by the next one.
_MOST_STEPS, _UP = 8, 1.3
_FLOOR_BYTES = 8 << 20
# Close to its limit a program can read the same pages again and again. A run counts as not completed if it takes this
# many times as long as without a limit, plus some seconds.
_PATIENCE, _PATIENCE_S = 10, 15
# Lead in pairs that decides the answer, and the maximum number of pairs. If noise reverses one pair in five, a lead of
# three is wrong in 1.5 % of all cases.
_LEAD, _PAIRS = 3, 9
# End a run that is this many times slower than allowed. It loses its pair.
_TOO_SLOW = 3


def measure_limit(setting: Setting, runs: Path, budget_s: float = math.inf) -> None:
    """Measure a run without a limit, then search the smallest limit, and write both into run.json.

    No run under a limit begins that would, as long as the one without, end after `budget_s`; `out_of_budget` says so.

    Every probe starts fresh: a private folder, prepared input, none of it in the page cache, nor of the other files
    that the run without a limit was seen to read. (The kernel does not charge a probe for pages that another process
    has read.) Raises MeasuringError if the run without a limit failed, or if a run was ended from outside.
    """
    out, ends_at = runs / setting.job.path, time.monotonic() + budget_s
    with private_folder(setting.work, setting.job.path) as work:
        prepare(setting, work)
        files_read = FilesRead()
        record = run_once(setting, work, out, WatchOptions(on_event=files_read.at_event, needed=files_read.look))
        check_end(setting.job, record)
        if record["outcome"] == "failed" and not record["completed_work"] and (work / ERRORS).is_file():
            raise MeasuringError(f"cannot say: the script failed: {failure(end_of(work / ERRORS), record)}")
        setting = replace(setting, reads=(*setting.reads, *files_read.outside(setting.work)))
        if record["outcome"] != "not_applicable":
            advised = advise(record)
            record["limit"] = {"ask_bytes": None if advised.at_least else advised.ask_bytes}
            record["limit"]["from_cache_bytes"] = from_cache_bytes(record)
        finish(setting, work, out, record, last=lambda: _search_limit(setting, record, ends_at))


def _search_limit(setting: Setting, record: dict[str, Any], ends_at: float) -> None:
    """Bisect geometrically between a sufficient and an insufficient limit."""

    def fits() -> bool:
        search["out_of_budget"] |= time.monotonic() + record["duration_s"] > ends_at
        return not search["out_of_budget"]

    if record["outcome"] == "not_applicable":
        return
    search = record["limit"] | {
        "tolerance": TOLERANCE,
        "completed_at_bytes": None,
        **dict.fromkeys(ENDED_AT.values()),
        "probes": [],
        "out_of_budget": False,
    }
    record["limit"] = search
    limit: int | None = max(advise(record).kept_bytes, _FLOOR_BYTES)
    try:
        while limit and fits():
            probe = _probe(setting, limit, _PATIENCE * record["duration_s"] + _PATIENCE_S)
            search["probes"].append(probe)
            search["completed_at_bytes" if probe["completed_work"] else ended_at(probe)] = limit
            too_small = max(filter(None, map(search.get, ENDED_AT.values())), default=None)
            limit = next_limit(too_small, search["completed_at_bytes"], len(search["probes"]))
        if (share := setting.job.limit_speed_share) and fits():
            _search_speed_limit(setting, record, share, fits)
    except LimitError as reason:
        search["not_run"] = str(reason)


def _search_speed_limit(setting: Setting, record: dict[str, Any], share: float, fits: Callable[[], bool]) -> None:
    """Bisect between the smallest limit that completes and the most memory that the cgroup used without a limit."""
    search = record["limit"]
    search |= {"speed_share": share, "slowed_at_bytes": None, "speed_kept_at_bytes": None, "speed_probes": []}
    completed = search["completed_at_bytes"]
    most = max(
        record["peak"]["cgroup_bytes"] or 0, record["peak"]["rss_bytes"] or 0, round(completed * (1 + TOLERANCE))
    )
    limit: int | None = completed
    while limit and fits():
        kept = _keeps_speed(setting, limit, share, search["speed_probes"], fits)
        if kept is None:
            return
        search["speed_kept_at_bytes" if kept else "slowed_at_bytes"] = limit
        limit = _next_speed_limit(search["slowed_at_bytes"], search["speed_kept_at_bytes"], most)


def _next_speed_limit(slowed: int | None, kept: int | None, most: int) -> int | None:
    """The next limit to try in bytes; None if the search is finished."""
    if slowed is None:
        return None
    if kept is None:
        # With all the memory that it ever used, the work waits for nothing. A larger limit would only fit noise.
        return max(most, round(slowed * _UP)) if slowed < most * _UP else None
    return round(math.sqrt(slowed * kept)) if kept > slowed * (1 + TOLERANCE) else None


def _keeps_speed(
    setting: Setting, limit_bytes: int, share: float, probes: list[dict[str, Any]], fits: Callable[[], bool]
) -> bool | None:
    """Whether the work keeps `share` of its speed under a limit, from pairs of runs with and without the limit.

    Each pair says yes or no. The answer with a lead of `_LEAD` pairs wins. After `_PAIRS` pairs without a winner the
    limit counts as too small. None if the budget ends before.
    """
    lead = 0
    for number in range(_PAIRS):
        if not fits():
            return None
        sides = (None, limit_bytes) if number % 2 == 0 else (limit_bytes, None)
        pair: dict[int | None, dict[str, Any]] = {}
        for side in sides:
            slowest_s = max((one["without_limit_s"] for one in probes), default=math.inf)
            timeout_s = None if side is None or slowest_s == math.inf else _TOO_SLOW * slowest_s / share + _PATIENCE_S
            pair[side] = _probe(setting, side, timeout_s)
        free, limited = pair[None], pair[limit_bytes]
        if not free["completed_work"]:
            raise MeasuringError(f"{setting.job.path}: a run without a limit ended without its work: {free['outcome']}")
        kept = limited["completed_work"] and free["work_s"] >= share * limited["work_s"]
        lead += 1 if kept else -1
        probes.append(
            {
                "limit_bytes": limit_bytes,
                "without_limit_s": free["work_s"],
                "at_limit_s": limited["work_s"],
                "outcome": limited["outcome"],
                "waited_s": limited["waited_s"],
                "kept": kept,
            }
        )
        if abs(lead) == _LEAD:
            return lead > 0
    return False


def next_limit(too_small: int | None, completed: int | None, tried: int) -> int | None:
    """The next limit to try in bytes; None if the search is finished.

    The guess is mostly right, so the first step away from it is the tolerance, and each further one the square of the
    last, until a limit is sufficient and another is not.
    """
    step = (1 + TOLERANCE) ** min(2 ** (tried - 1), _MOST_STEPS)
    if completed is None:
        return int((too_small or _FLOOR_BYTES) * step)
    if too_small is None:
        return max(math.ceil(completed / step), _FLOOR_BYTES) if completed > _FLOOR_BYTES else None
    return round(math.sqrt(too_small * completed)) if completed > too_small * (1 + TOLERANCE) else None


def _probe(setting: Setting, limit_bytes: int | None, timeout_s: float | None) -> dict[str, Any]:
    """Run once in a fresh folder, with or without a limit."""
    with (
        private_folder(setting.work, f"limit/{setting.job.path}") as work,
        private_folder(setting.work, f"probe/{setting.job.path}") as out,
    ):
        prepare(setting, work)
        record = run_once(setting, work, out, WatchOptions(memory_limit_bytes=limit_bytes, timeout_s=timeout_s))
        done_s = [event["t_s"] for event in records.events(out) if event["event"] == "work"]
    check_end(setting.job, record)
    done = "done" if record["completed_work"] else "not done"
    under = f"{limit_bytes / 1e6:,.0f} MB" if limit_bytes else "no limit"
    message = f"{under}: {record['outcome']}, work {done}, {record['duration_s']:.1f} s"
    print(f"{setting.job.path}: {message}", file=sys.stderr)
    return {
        "limit_bytes": limit_bytes,
        **{key: record[key] for key in ("outcome", "completed_work", "duration_s", "cpu_s")},
        # Until the work was done; excludes later measurements.
        "work_s": done_s[-1] if done_s else record["duration_s"],
        "waited_s": (record.get("pressure") or {}).get("some_s"),
        "major_faults": record["faults"]["major"],
        "read_bytes": record["storage"]["read_bytes"],
        "cgroup_bytes": record["peak"]["cgroup_bytes"],
        "from_cache_bytes": from_cache_bytes(record),
    }


def from_cache_bytes(record: dict[str, Any]) -> int | None:
    """About how many bytes a run read or mapped that came from the page cache, and were not charged to it; None if
    unknown. What it reads twice and what comes through pipes counts too; what the kernel reads ahead hides as much."""
    storage, mapped = record["storage"], record["peak"].get("file_bytes")
    if storage["read_bytes"] is None or storage.get("returned_bytes") is None or mapped is None:
        return None
    return int(max(0, storage["returned_bytes"] + mapped - storage["read_bytes"]))
