"""One line about a scheduler's job: memory by kind, its request, and the next request.

The source is a watcher's record, or what the kernel keeps of the job's group: its highest usage, page cache included,
not split by kind.
"""

from pathlib import Path
from typing import Any, cast

from .. import memory_request
from ..records.run_json import RunRecord
from . import memory_group
from .summary import megabytes

# The mapped files at the peak are unknown: reserve the maximum of the rule.
_UNKNOWN_BYTES = 1 << 62


def of_record(record: RunRecord) -> str:
    """The line for a run.json. Raises KeyError for a record without readings."""
    peak = record["peak"]
    limits = (peak.get("around") or {}).get("limit_bytes"), record.get("memory_limit_bytes")
    limit_bytes = min(filter(None, limits), default=None)
    kinds = ((peak["anon_bytes"], "anonymous"), (peak["file_bytes"], "file"), (peak["shmem_bytes"], "shared"))
    used = ", ".join(f"{megabytes(size)} {word}" for size, word in kinds)
    request = memory_request.request_of(record)
    attached = record.get("attached") or {"running_s": 0.0}
    after = f", seen from {attached['running_s']:.0f} s after its start" if attached["running_s"] > 1 else ""
    return (
        f"{_limit_text(limit_bytes)}; used {megabytes(peak['rss_bytes'])} of RSS at once, "
        f"of each kind at its highest {used}; "
        f"kept {megabytes(request.kept_bytes)}{_killed_text(request.killed)}{after}; {_next(request)}"
    )


def _next(request: memory_request.MemoryRequest, *, at_most: bool = False) -> str:
    bound = request.bound or ("at most " if at_most else "")
    mem = memory_request.mem(request.request_bytes)
    return f"next time ask for {bound}{megabytes(request.request_bytes)} (--mem={mem})"


def _limit_text(limit_bytes: int | None) -> str:
    return "no limit was set" if limit_bytes is None else f"asked for {megabytes(limit_bytes)}"


def _killed_text(killed: bool) -> str:
    return ", killed for want of memory" if killed else ""


def of_group(path: Path, version: int) -> tuple[str, dict[str, Any] | None]:
    """The line for a job's group, and the request for programs. Raises OSError if it is gone."""
    meter = memory_group.GroupMeter(path, version, ours=False, whole=True)
    try:
        now, peak, killed = meter.charges(), meter.peak_bytes(), bool(meter.kills())
    finally:
        meter.close()
    limit = memory_group.limit_bytes(path, version)
    if peak is None:
        hint = "this kernel keeps no peak of a group: put `beyond-ram watch --` before the command"
        return f"{_limit_text(limit)}; {hint}", None
    # Close to its limit, page cache may have filled the group.
    filled = limit is not None and peak > limit * (1 - memory_request.ROOM_SHARE)
    kept = max(now.kept_bytes, peak - now.evictable_bytes) if filled and not killed else peak
    record = _as_record(kept, killed, limit, "detached" if filled and not killed else "completed")
    request = memory_request.request_of(record)
    usage = f"{megabytes(peak)} at once with page cache, {megabytes(now.evictable_bytes)} of it page cache now"
    line = f"{_limit_text(limit)}; used {usage}{_killed_text(killed)}; {_next(request, at_most=True)}"
    return line, memory_request.document(record)["request"]


def _as_record(kept_bytes: int, killed: bool, limit_bytes: int | None, outcome: str) -> RunRecord:
    """A record for `request_of`, for a group that was not watched."""
    kept = {"basis": memory_request.AROUND, "kept_bytes": kept_bytes, "kept_sampled_bytes": kept_bytes, "at_kept": {}}
    peak = {
        "kept": kept | {"kept_upper_bound_bytes": kept_bytes},
        "around": {"limit_bytes": limit_bytes},
        "unseen_bytes": 0,
        "anon_upper_bound_bytes": 0,
        **dict.fromkeys(("rss_bytes", "anon_bytes")),
        "file_bytes": _UNKNOWN_BYTES,
    }
    return cast(RunRecord, {"peak": peak, "killed_for_memory": killed, "outcome": outcome})
