"""Ceilings of `beyond-ram watch`: maximum peaks of a run. Standard library only.

A ceiling kills nobody: it is compared with the record after the command has ended. Samples miss what lies between two
of them. The kernel's high-water marks and the group's peak do not, so they raise the sampled peak:

- RSS: the mark of one process (VmHWM) is a lower bound of the tree's RSS at that moment.
- anonymous memory: marks above the samples of their own processes count, up to the group's unreclaimable memory minus
  its shared and kernel memory. This excludes deleted page cache, which is in no mark, and marks of processes that
  peaked at different times. Without a group, marks count only if there was one process at a time.
  The largest sample of the group's anonymous memory counts too: it has memory whose process has ended.

`at_most_bytes` is an upper bound of the true peak, but for processes that ended between two readings, and for memory
whose mark is gone: `exec` and `clear_refs` reset it. Where these may have made the difference, as the faults of the
tree or the group's memory show, the result is `unknown`; so it is if a process ran on unwatched.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import memory_request
from ..records.run_json import CeilingEntry, PeakEntry, RunRecord
from .missing import PROCESSES

ABOVE, WITHIN, UNKNOWN = "above", "within", "unknown"
STATUS = 3
# After these notes of the watcher, the true peak may exceed all readings.
_BLIND = frozenset({"samples", "samples and events", "supervision", "run.json", PROCESSES, memory_request.UNSEEN})
# Processes with a smaller share of the peak are not named.
_HOLDER_SHARE = 0.05
_NAMES = {"anon": "anonymous memory", "rss": "RSS"}
KINDS = tuple(_NAMES)


@dataclass(frozen=True)
class Ceiling:
    """The maximum of one peak."""

    kind: str
    """`anon` or `rss`."""
    max_bytes: int
    text: str
    """The option as typed."""

    @property
    def option(self) -> str:
        return f"--max-{self.kind} {self.text}"


def judge(record: RunRecord, ceilings: Sequence[Ceiling]) -> list[CeilingEntry]:
    """Compare the record with each ceiling. Returns an entry of run.json for each; raises nothing."""
    return [_judged(record, ceiling) for ceiling in ceilings]


def status(own: int, judged: Sequence[Mapping[str, Any]]) -> int:
    """The exit status: 3 if a peak is above its ceiling, 3 instead of 0 if one is unknown, else the command's."""
    results = {entry["result"] for entry in judged}
    return STATUS if ABOVE in results or (UNKNOWN in results and own == 0) else own


def lines(record: RunRecord) -> list[str]:
    """A line for each ceiling, and one more if the command itself failed too."""
    judged = record.get("ceilings", [])
    shown = [_line(entry, _condition(record["peak"], entry)) for entry in judged]
    if record.get("watch_status") == STATUS and (record["exit_status"] or record["signal"]):
        own = f"signal {record['signal']}" if record["exit_status"] is None else f"status {record['exit_status']}"
        shown.append(f"ended       the command failed by itself too, with {own}; the exit status is {STATUS}")
    return shown


def _judged(record: RunRecord, ceiling: Ceiling) -> CeilingEntry:
    peak: int | None = None
    most: int | None = None
    why: str | None = None
    holders: Sequence[Any] = []
    try:
        peaks = record["peak"]
        peak, most = {"anon": _anon, "rss": _rss}[ceiling.kind](peaks)
        holders = peaks["held_by"].get("anon_bytes" if ceiling.kind == "anon" else "rss_bytes", [])
    except Exception as error:  # a record without readings, or one that an error cut short
        why = f"the record has no {error}" if isinstance(error, KeyError) else f"{type(error).__name__}: {error}"
    blind = next((note for note in record.get("missing", []) if note.get("what") in _BLIND), None)
    if peak is not None and peak > ceiling.max_bytes:
        result, why = ABOVE, None
    elif blind:
        uncounted = "there were processes that could not be read"
        result, why = UNKNOWN, uncounted if blind["what"] == PROCESSES else f"{blind['what']}: {blind['why']}"
    elif peak is None and (most is None or most > ceiling.max_bytes):
        result, why = UNKNOWN, why or "it was never read"
    elif peak is not None and (possible := _possible(record["peak"], peak)) > ceiling.max_bytes:
        result, why = UNKNOWN, f"between two readings it may have been up to {possible / 1e6:,.0f} MB"
    elif (group := _of_group(record["peak"], "shmem_bytes")) is not None and group > ceiling.max_bytes:
        held = f"its memory group held up to {group / 1e6:,.0f} MB that the kernel could not take back"
        result, why = UNKNOWN, f"{held}, and no reading shows whose: `exec` resets the marks of a process"
    elif record.get("left_running"):
        result, why = UNKNOWN, "some of its processes ran on unwatched"
    else:
        result, why = WITHIN, None
    return {
        "kind": ceiling.kind,
        "option": ceiling.option,
        "max_bytes": ceiling.max_bytes,
        "peak_bytes": peak,
        "at_most_bytes": most,
        "result": result,
        "why": why,
        "held_by": list(holders),
    }


def _condition(peak: PeakEntry, entry: Mapping[str, Any]) -> str:
    """What a peak that is within its ceiling may lack."""
    kept, most = peak.get("kept") or {}, entry["at_most_bytes"]
    above = entry["peak_bytes"] is not None and most is not None and most > entry["max_bytes"]
    spikes = f"; spikes up to {_amount(most, entry['max_bytes'])}" if above else None
    basis = kept.get("basis") if entry["kind"] == "anon" and kept.get("whole", True) else None
    if basis not in (memory_request.GROUP, memory_request.AROUND):
        return f", of its processes{', as sampled' if spikes is None else spikes}"
    # Memory of other kinds may have left before a spike that the group's peak does not show.
    if spikes or basis == memory_request.AROUND or kept["kept_bytes"] > entry["max_bytes"]:
        return spikes or ", without spikes between samples"
    # So may page cache, but then a mark has the spike.
    return ", by the marks of its processes" if (peak.get("cgroup_bytes") or 0) > entry["max_bytes"] else ""


def _rss(peak: PeakEntry) -> tuple[int | None, int | None]:
    sampled = peak["rss_bytes"]
    if sampled is None:
        return None, None
    marks = peak["hwm_bytes"]
    largest = max((entry["hwm_bytes"] for entry in marks["processes"]), default=0)
    low = max(sampled, largest, marks.get("reaped_bytes") or 0)
    together = marks["concurrent_upper_bound_bytes"]
    return low, None if together is None else max(low, together)


def _anon(peak: PeakEntry) -> tuple[int | None, int | None]:
    sampled = peak["anon_bytes"]
    if sampled is None:
        return None, None
    sampled = max(sampled, (peak.get("kept") or {}).get("sampled_anon_bytes", 0))
    if peak["anon_upper_bound_bytes"] is None:
        return sampled, None
    most = max(sampled, peak["anon_upper_bound_bytes"])
    marked = min(most, sampled + (peak["unseen_bytes"] or 0))
    group = _of_group(peak, "shmem_bytes", "kernel_bytes")
    if group is not None:
        return max(sampled, min(marked, group)), most
    return (marked if peak["processes"] <= 1 else sampled), most


def _of_group(peak: PeakEntry, *without: str) -> int | None:
    """The peak of kept memory in the command's own group, without some kinds; None without a group that has all of it.

    On v1 kernel memory is computed: the usage less all other kinds. It is too large while a process frees its memory.
    """
    kept = peak.get("kept") or {}
    if kept.get("basis") != memory_request.GROUP or not kept.get("whole", True):
        return None
    return int(kept["kept_bytes"] - sum(kept["at_kept"].get(name, 0) for name in without))


def _possible(peak: PeakEntry, read_bytes: int) -> int:
    """What may have been at once, if the readings show this much: without a group, copies that only faults show too;
    with one, all that it held, if marks are gone."""
    kept = peak.get("kept") or {}
    others = sum(kept["at_kept"].get(f"{kind}_bytes", 0) for kind in ("shmem", "kernel", "locked_file")) if kept else 0
    counted = kept["kept_bytes"] - others if kept.get("basis") == memory_request.TREE else 0
    held = (peak.get("cgroup_bytes") or 0) if memory_request.marks_are_gone(peak) else 0
    return int(max(max(read_bytes, counted) + memory_request.between_bytes(peak), held))


def _line(entry: Mapping[str, Any], condition: str) -> str:
    name, peak, most, allowed = _NAMES[entry["kind"]], entry["peak_bytes"], entry["at_most_bytes"], entry["max_bytes"]
    if entry["result"] == UNKNOWN:
        return f"unknown     whether peak {name} is above {entry['option']} is not known: {entry['why']}"
    if entry["result"] == ABOVE:
        line = f"above       peak {name} {_amount(peak, allowed)} is above {entry['option']} ({_amount(allowed, peak)})"
        holders = ", ".join(
            f"{one['name']} ({one['pid']}) {one['bytes'] / 1e6:,.0f} MB"
            for one in entry["held_by"]
            if one["bytes"] > _HOLDER_SHARE * peak
        )
        return f"{line}; of it {holders}" if holders else line
    bound = f"at most {_amount(most, allowed)}" if peak is None else _amount(peak, allowed)
    line = f"within      peak {name} {bound} is not above {entry['option']} ({_amount(allowed, peak or most)})"
    return line + condition


def _amount(size_bytes: int, other_bytes: int) -> str:
    """Megabytes as text, with three more digits if the two sizes would read the same."""
    same = f"{size_bytes / 1e6:,.0f}" == f"{other_bytes / 1e6:,.0f}" and size_bytes != other_bytes
    return f"{size_bytes / 1e6:,.3f} MB" if same else f"{size_bytes / 1e6:,.0f} MB"
