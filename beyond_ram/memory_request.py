"""How much memory to request from a scheduler, from the record of a run. Standard library only.

The terminal, the tables and the requests of the workflow all use this one rule. A cgroup kills a program for memory
that the kernel cannot reclaim (`watch/memory_group.py`). So the request is this memory, with a reserve for variation
between runs, and with room for mapped code and data files. A scheduler that polls processes adds up their RSS instead,
which counts shared pages once per process, and mapped files too.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .records.run_json import KeptEntry, PeakEntry, RunRecord

MIB = 1 << 20
# Peaks of anonymous memory differ between runs by up to 9 %.
ROOM_SHARE = 0.10
ROOM_BYTES, _MAPPED_BYTES, _STEP_BYTES = 4 * MIB, 40 * MIB, 2 * MIB
GROUP, AROUND, TREE, MARKS, RSS = "group", "around", "tree", "marks", "rss"
# Sizes that differ by this factor are two answers; requests, if repeats differ as much.
FAR, FAR_REPEATS = 1.25, 1.05
UNSEEN = "unseen memory"
"""Subject of the notes about memory of unknown size that no reading shows."""
_SUCCESS = ("completed", "not_applicable")
_ENDED_EARLY = {
    "timed_out": "it was ended at its time limit",
    "interrupted_on_purpose": "it was interrupted on purpose",
    "detached": "it was not watched to its end",
    "ended": "how it ended is unknown",
}
KERNEL, POLLING, UNKNOWN = "kernel", "polling", "unknown"


@dataclass(frozen=True)
class MemoryRequest:
    """The memory request in bytes, and its reasons."""

    request_bytes: int
    lower_bound: Sequence[str]
    """Why the request is only a lower bound; empty if the run succeeded and all of it was seen."""
    killed: bool
    """The run was killed for lack of memory."""
    kept_bytes: int
    """Peak of the memory that the kernel cannot reclaim."""
    basis: str
    """Source of the numbers: the command's own cgroup (`group`), the cgroup `around` it, the process `tree` with
    PSS, the high-water `marks` of processes, or summed `rss` if the kinds of memory are unknown."""
    terms: Mapping[str, int]
    """The kinds of memory in `kept_bytes`, at the highest sample."""
    mapped_bytes: int
    """Room for mapped files."""
    polled_bytes: int
    """The request for a scheduler that adds up the RSS of processes."""
    enforced_by: str
    """What limited the run: the `kernel` (a cgroup with a limit), `polling` (a scheduler without one), or `unknown`."""
    high_bytes: int = 0
    """The request if the processes that it had at once peak, or copy shared memory, at the same time. At least
    `request_bytes`."""
    killed_at_bytes: int | None = None
    """The limit at which the run was killed, if known."""
    speed_bytes: int | None = None
    """The request that keeps the run's speed; with `request_bytes` it only completes. None if unknown."""
    speed_is_measured: bool = False
    """Whether a search for limits measured `speed_bytes`. Otherwise it is an upper bound."""
    refused_bytes: int = 0
    """The size of an allocation that was refused, if the request is that size."""
    polled_at_least: bool = False
    """`polled_bytes` alone is a lower bound: a group counted processes that could not be read."""
    as_sampled: bool = False
    """Whether a shorter spike than samples show is possible: no group's peak excludes it, for page cache may have made
    way for it."""
    summed: bool = False
    """No reading of PSS shows which pages its processes share: they count in each."""

    @property
    def at_least(self) -> bool:
        """Whether the request is only a lower bound."""
        return bool(self.lower_bound)

    @property
    def bound(self) -> str:
        """What stands before the request: that it is a lower bound, or may be too high as well, or nothing."""
        return ("about " if self.summed else "at least ") if self.at_least else ""

    @property
    def polled_bound(self) -> str:
        """What stands before the request for a scheduler that adds up RSS."""
        return "at least " if self.at_least or self.polled_at_least else ""


def request_of(record: RunRecord) -> MemoryRequest:
    """The request from the record of a run. Raises KeyError if the record has no readings."""
    peak = record["peak"]
    if not has_readings(peak):
        raise KeyError("readings")
    kept, basis, terms = _kept(peak)
    file = peak["file_bytes"]
    if (
        file is None and peak["rss_bytes"] is not None
    ):  # RSS includes it, or it is unknown: then use the maximum of the rule
        file = 0 if basis == RSS else _MAPPED_BYTES
    unread = _unread(peak)
    mapped = _MAPPED_BYTES if unread and _whole(peak) else min(file or 0, _MAPPED_BYTES)
    polled = _up(max(peak["rss_bytes"] or 0, 0) * (1 + ROOM_SHARE) + ROOM_BYTES)
    limits, enforced_by = _limits(record), _enforced_by(record)
    killed = record.get("outcome") == "killed_at_limit" or bool(record.get("killed_for_memory"))
    killed_at = min(limits, default=None) if killed else None
    needed = _up(max(kept, (killed_at or 0) + 1) if killed else _with_room(kept, mapped))
    together = needed if killed else _up(_with_room(kept + _apart(peak, basis), mapped))
    if enforced_by == POLLING:
        needed = max(needed, polled)
    speed, measured = _speed(record, kept, limited=bool(limits))
    refused = record.get("refused_bytes") or 0
    refused = 0 if _up(refused) <= needed else refused
    needed = max(needed, _up(refused))
    # The schedule of processes decides how much is copied on write at once: at most all shared memory.
    copies = 0 if killed else peak.get("copied_on_write_bytes") or 0
    high = max(needed, together, polled if copies > (FAR - 1) * kept else 0)
    reasons = lower_bound(record)
    if (unseen := between_bytes(peak)) and (peak.get("kept") or {}).get("kept_bytes", kept) + unseen > needed:
        reasons.append(f"up to {unseen / 1e6:,.0f} MB more may have been taken between two readings")
    # Neither the group's peak with page cache nor the marks exclude it.
    marked = (peak.get("hwm_bytes") or {}).get("concurrent_upper_bound_bytes") or math.inf
    possible = min(peak.get("cgroup_bytes") or 0, marked + kept - terms.get("anon_bytes", 0))
    as_sampled = basis != GROUP or possible > needed
    summed = basis == TREE and (peak.get("processes") or 0) > 1 and peak.get("pss_bytes") is None
    more = (enforced_by, high, killed_at, speed, measured, refused, unread and not reasons, as_sampled, summed)
    return MemoryRequest(needed, reasons, killed, kept, basis, terms, mapped, polled, *more)


def _limits(record: RunRecord) -> list[int]:
    """The memory limits that are set: of the run, and of the group around it."""
    around = record["peak"].get("around") or {}
    return [size for size in (record.get("memory_limit_bytes"), around.get("limit_bytes")) if size]


def _enforced_by(record: RunRecord) -> str:
    if _limits(record):
        return KERNEL
    return POLLING if record.get("provenance", {}).get("scheduler") else UNKNOWN


def _unread(peak: PeakEntry) -> bool:
    """Whether processes lived that could not be read."""
    return bool(peak.get("processes_unread")) or peak.get("rss_bytes") is None


def _whole(peak: PeakEntry) -> bool:
    """Whether `kept` counts all processes: those that could not be read too, as a group does."""
    kept = peak.get("kept")
    return kept.get("whole", True) if kept else not _unread(peak)


def lower_bound(record: RunRecord) -> list[str]:
    """Why the request of a run is only a lower bound; empty if the run succeeded and all of it was seen."""
    peak, refused = record["peak"], record.get("refused_bytes")
    polled = _unread(peak) and _enforced_by(record) == POLLING
    reasons = [
        _no_success(record),
        f"an allocation of {refused / 1e6:,.0f} MB was refused" if refused else "",
        "its memory may have been higher before it was watched" if _may_have_held_more(record) else "",
        "not all of its processes were counted" if polled or not _whole(peak) else "",
        "; ".join(note["why"] for note in record.get("missing", []) if note.get("what") == UNSEEN),
        "some of its processes ran on unwatched" if record.get("left_running") else "",
    ]
    return list(filter(None, reasons))


def _no_success(record: RunRecord) -> str:
    """How a run ended, if not with success."""
    outcome, status = record.get("outcome", "completed"), record.get("exit_status")
    if outcome == "killed_at_limit" or record.get("killed_for_memory"):
        return "it was killed for want of memory"
    if outcome in _ENDED_EARLY:
        return _ENDED_EARLY[outcome]
    if record.get("signal"):
        return f"it ended by {record['signal']}"
    if outcome not in _SUCCESS or status:
        return f"it ended with status {status}" if status else "it ended before its work was done"
    if record.get("signals"):
        return f"it received {' and '.join(record['signals'])}"
    above = any(ceiling.get("result") == "above" for ceiling in record.get("ceilings", []))
    return "it was above a ceiling" if above else ""


def uncharged_bytes(peak: PeakEntry, kept_bytes: int) -> int:
    """Memory of the kernel that no group is charged for, if it is more than the reserve of a request; else 0."""
    size = int(peak.get("uncharged_bytes") or 0)
    return size if size > ROOM_SHARE * kept_bytes + ROOM_BYTES else 0


def between_bytes(peak: PeakEntry) -> int:
    """How many bytes the peak may have missed, at most: between two readings, or before an exec.

    Page faults bound it, the largest RSS of one process, which `exec` does not set back, and the peak of the group.
    """
    kept, marks, lost = peak.get("kept") or {}, peak.get("hwm_bytes") or {}, 0
    counted, reaped = kept.get("kept_bytes", 0), marks.get("reaped_bytes", 0)
    largest = max((one["hwm_bytes"] for one in marks.get("processes", [])), default=0)
    # Otherwise it is the same process, which rose after its last reading.
    if reaped > (largest or peak["rss_bytes"] or 0) * (1 + ROOM_SHARE) + ROOM_BYTES:
        lost = reaped - counted if kept.get("basis") == GROUP else reaped
    group_bytes = peak.get("cgroup_bytes")
    if kept.get("basis") == GROUP and group_bytes:  # what one process had beyond it, another was charged
        lost = max(lost, max(largest, reaped) - group_bytes - max(peak["file_bytes"] or 0, _MAPPED_BYTES))
        if marks_are_gone(peak):  # page cache may have made way for anything
            lost = max(lost, group_bytes - counted)
    return int(max(0, lost, (kept.get("kept_possible_bytes") or 0) - counted))


def marks_are_gone(peak: PeakEntry) -> bool:
    """Whether the marks of some processes were set back, or lost at their end."""
    marks = peak.get("hwm_bytes") or {}
    return bool(marks.get("set_back") or marks.get("exits_lost"))


def has_readings(peak: PeakEntry) -> bool:
    """Whether anything was read of a run's memory: a command may end before the first reading."""
    return peak["rss_bytes"] is not None or bool(peak.get("kept") or peak["hwm_bytes"]["processes"])


def _with_room(kept: float, mapped: int) -> float:
    return kept * (1 + ROOM_SHARE) + mapped + ROOM_BYTES


def _apart(peak: PeakEntry, basis: str) -> int:
    """The sum of each process's peak of anonymous memory, minus the largest sampled sum."""
    highest, sampled = peak.get("anon_upper_bound_bytes"), peak.get("anon_bytes")
    if basis in (MARKS, RSS) or highest is None or sampled is None or (peak.get("processes") or 0) < 2:
        return 0
    return max(0, int(highest) - int(sampled) - int(peak.get("unseen_bytes") or 0))


def _speed(record: RunRecord, kept: int, *, limited: bool) -> tuple[int | None, bool]:
    """The memory that keeps the speed of a run, and whether it was measured.

    A run that never waited for memory cannot use more than its cgroup held, page cache included.
    """
    if measured := record.get("limit", {}).get("speed_kept_at_bytes"):
        return _up(measured), True
    peak = record["peak"]
    group_bytes = peak.get("cgroup_bytes")
    waited = (record.get("pressure") or {}).get("some_s")
    counted = peak.get("kept") or {}
    all_in_group = counted.get("basis") != TREE and counted.get("whole", True)
    if group_bytes is None or not all_in_group or record.get("outcome") != "completed" or (limited and waited != 0):
        return None, False
    beside = max(group_bytes - kept, peak["file_bytes"] or 0)
    return _up(kept * (1 + ROOM_SHARE) + beside + ROOM_BYTES), False


def _may_have_held_more(record: RunRecord) -> bool:
    """Whether memory may have been higher before the run was followed, as far as the kernel's marks show."""
    before = record.get("attached", {}).get("before")
    if not before:
        return False
    above = before.get("cgroup_above_bytes")
    above = before.get("hwm_above_bytes") if above is None else above
    return above is None or above > 0


def _kept(peak: PeakEntry) -> tuple[int, str, Mapping[str, int]]:
    """The peak of unreclaimable memory, its source, and its kinds."""
    kept = peak.get("kept")
    if not kept and "anon_upper_bound_bytes" in peak and peak["anon_upper_bound_bytes"] is None:
        return peak["rss_bytes"] or 0, RSS, {}
    if not kept:
        kinds = [peak.get("anon_upper_bound_bytes"), peak.get("shmem_bytes"), peak.get("swap_bytes")]
        return sum(size or 0 for size in kinds), MARKS, {}
    # A rise between two samples that only the kernel's marks show. Processes need not have peaked at the same time.
    unseen = 0
    if peak["unseen_bytes"] is not None:
        unseen = min(peak["unseen_bytes"], max(0, (peak["anon_upper_bound_bytes"] or 0) - (peak["anon_bytes"] or 0)))
    sampled, most = kept["kept_sampled_bytes"], kept["kept_upper_bound_bytes"]
    size = sampled + unseen if most is None else min(sampled + unseen, most)
    if not (locked := _locked(kept)):
        return max(kept["kept_bytes"], size), kept["basis"], kept["at_kept"]
    return max(kept["kept_bytes"], size) + locked, kept["basis"], {**kept["at_kept"], "locked_file_bytes": locked}


def _locked(kept: KeptEntry) -> int:
    """Locked pages of files that a group did not count as kept: they are still on its lists of reclaimable pages, or
    charged to the group that read them first. A process tree counts them itself."""
    if kept["basis"] not in (GROUP, AROUND):
        return 0
    kinds = ("anon_bytes", "shmem_bytes", "kernel_bytes", "swap_bytes")
    charged = kept["kept_sampled_bytes"] - sum(kept["at_kept"].get(kind, 0) for kind in kinds) if kept["at_kept"] else 0
    return int(max(0, kept.get("locked_file_bytes", 0) - max(0, charged)))


def document(record: RunRecord) -> dict[str, Any]:
    """A record beside its request, for programs; the request is None if the record has no readings."""
    if not has_readings(record["peak"]):
        return {"request": None, "record": record}
    request = request_of(record)
    return {
        "request": asdict(request) | {"mem": mem(request.request_bytes), "at_least": request.at_least},
        "record": record,
    }


def mem(size_bytes: int) -> str:
    """A size in the format of Slurm's --mem, rounded up."""
    return f"{-(-size_bytes // MIB)}M"


def depends(request: MemoryRequest) -> bool:
    """Whether the request depends on who ends a job: the kernel, or a scheduler that adds up RSS."""
    far = request.polled_at_least or request.polled_bytes > FAR * request.request_bytes
    return request.enforced_by == UNKNOWN and far


def _up(size_bytes: float) -> int:
    return math.ceil(size_bytes / _STEP_BYTES) * _STEP_BYTES
