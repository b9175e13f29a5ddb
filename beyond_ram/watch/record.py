"""The record of a run: the content of run.json."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import memory_request
from ..records.run_json import ProcessEntry, RunRecord, WorkEntry, fault
from . import events, machine, pagecache, procfs
from .exit_status import signal_name
from .hidden import LIMIT, MARK, PEAK
from .instrument import Instrument
from .missing import PROCESSES, Missing
from .peaks import Peaks
from .reader import HWM
from .sampler import CPU_BUDGET, Counting, Sampler
from .timeline import COPYING

# Sources that differ by more than these bytes and this share disagree: the record then names both.
_NOTEWORTHY_BYTES, _NOTEWORTHY_SHARE = 1_000_000, 0.005
_PROCESSES_IN_RECORD = 64
# Number of processes that a note names.
_NAMED = 5
# Fields of the event `work` that go into the record.
_OF_WORK = (  # noqa: SIM905
    "rows bytes_in tokens rows_per_worker rows_expected rows_delivered rows_twice rows_missing rows_wrong"
).split()


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Facts of a run besides its measurements."""

    command: Sequence[str]
    environment: Mapping[str, str]
    pid: int
    returncode: int = 0
    """The command's exit status; less than 0 for a signal."""
    used: Mapping[str, float] = field(default_factory=dict)
    ended_by: str | None
    killed_for_memory: bool
    duration_s: float
    left_running: list[ProcessEntry] = field(default_factory=list)
    signals: Sequence[str] = ()
    """The signals to stop that reached the watcher."""
    refused_bytes: int | None = None
    """An allocation that was refused, as the command's last words have it."""
    no_group: str | None
    resident: pagecache.Residency | None
    """Page cache of the inputs before the run."""
    reports_work: bool = False
    """Whether the program reports when its work is done; without the report a run with status 0 has failed."""
    attached: bool = False
    """Attached to a running program, whose resources are known only from the tree."""


def make(outcome: Outcome, measuring: Instrument) -> RunRecord:
    """The record of a run. Parts that fail stay empty, with a note in `missing`."""
    sampler, log, missing = measuring.sampler, measuring.log, measuring.missing
    inputs, counting, spent_s = measuring.options.inputs, measuring.counting, measuring.spent_s()
    content = _initial(outcome, measuring)
    parts: list[Callable[[], dict[str, Any]]] = [
        lambda: _end(outcome, log, missing),
        lambda: {"provenance": _provenance(outcome, log)},
        lambda: {"peak": _peak(sampler, log, _group(counting, outcome.no_group), outcome)},
        lambda: {"peak": content["peak"] | _kept(sampler, counting, outcome)},
        lambda: {"phases": [span.record() for span in sampler.peaks.phases] if sampler else []},
        lambda: {"sampler": _sampling(outcome.duration_s, spent_s, sampler, measuring.options.interval_ms)},
        lambda: {"growth": _growth(measuring)},
        lambda: {"pressure": sampler.pressure.record() if sampler and sampler.pressure else None},
        lambda: _used(outcome, sampler),
    ]
    for part in parts:
        with missing.step("run.json"):
            content |= part()
    if content["cpu_s"] is None:
        missing.note("CPU time and storage", "neither the guard nor the tree could say")
    if inputs:
        now = missing.attempt("page cache", lambda: pagecache.residency(inputs), None)
        with missing.step("page cache"):
            content["page_cache"] = pagecache.record(outcome.resident, now, content["storage"]["read_bytes"])
    if sampler is not None:
        with missing.step("run.json"):
            _note_uncounted(sampler, outcome, missing, has_limit=content["memory_limit_bytes"] is not None)
    if sampler is not None and not sampler.recorder.samples:
        with missing.step("samples"):
            missing.note("samples", "no process could be read before the command ended")
    if measuring.delivery.elsewhere:
        content["elsewhere"] = measuring.delivery.elsewhere
    content["missing"] = missing.attempt("run.json", missing.record, [])
    return content  # type: ignore[no-any-return]


def _initial(outcome: Outcome, measuring: Instrument) -> Any:
    """The record with the facts that cannot fail, and empty values for the measurements."""
    status = outcome.returncode
    return {
        "outcome": outcome.ended_by or ("completed" if status == 0 else "failed"),
        "completed_work": status == 0,
        "exit_status": status if status >= 0 else None,
        "signal": None if status >= 0 else signal_name(-status),
        "command": outcome.command,
        "pid": outcome.pid,
        "cell": {},
        "provenance": {"versions": {}},
        "work": {},
        "memory_limit_bytes": measuring.options.memory_limit_bytes,
        # By the limit above, or by that of a group around ours: a job's, a container's.
        "killed_for_memory": outcome.killed_for_memory,
        "peak": {},
        "phases": [],
        "faults": {"minor": None, "major": None},
        "storage": {"read_bytes": None, "written_bytes": None, "returned_bytes": None},
        # Time of waiting for memory; None if the kernel does not count it.
        "pressure": None,
        # Growth of kept memory at the end.
        "growth": None,
        "left_running": outcome.left_running,
        "signals": list(outcome.signals),
        "refused_bytes": outcome.refused_bytes,
        "sampler": {"interval_ms": measuring.options.interval_ms, "samples": 0},
        "started_at": None if measuring.started_at is None else round(measuring.started_at, 3),
        "duration_s": outcome.duration_s,
        "cpu_s": None,
    }


def _end(outcome: Outcome, log: events.Log | None, missing: Missing) -> dict[str, Any]:
    status = outcome.returncode
    work = log.last.get("work", {}) if log else {}
    completed = "work" in log.last if outcome.reports_work and log else status == 0
    halfway = outcome.ended_by is None and status == 0 and not completed
    reported = {key: work[key] for key in _OF_WORK if key in work}
    wrong = {key: what for key, value in reported.items() if (what := fault({key: value}, WorkEntry))}
    if wrong:
        missing.note("work", f"the program reported a value of another type: {', '.join(wrong.values())}")
    return {
        **({"outcome": "failed", "reason": "it ended with status 0 before its end"} if halfway else {}),
        "command": list(outcome.command),
        "completed_work": completed,
        "work": {key: value for key, value in reported.items() if key not in wrong},
        "duration_s": round(outcome.duration_s, 6),
    }


def _provenance(outcome: Outcome, log: events.Log | None) -> dict[str, Any]:
    reported = log.last.get("provenance", {}) if log else {}
    return {"versions": reported.get("versions", {}), **machine.provenance(outcome.environment)}


def _sampling(duration_s: float, spent_s: float | None, sampler: Sampler | None, interval_ms: int) -> dict[str, Any]:
    recorder, reader = (sampler.recorder, sampler.reader) if sampler else (None, None)
    samples = recorder.samples if recorder else 0
    return {
        "reader": reader.name if reader else None,
        "unknown": sorted(reader.unknown) if reader else [],
        "interval_ms": interval_ms,
        "interval_used_ms": round(1000 * duration_s / max(samples, 1), 1),
        "samples": samples,
        "lines": recorder.lines if recorder else 0,
        "samples_per_line": recorder.per_line if recorder else 1,
        "duty_cycle": None if spent_s is None else round(spent_s / max(duration_s, 1e-9), 5),
        "budget": CPU_BUDGET,
    }


def _growth(measuring: Instrument) -> dict[str, Any] | None:
    growth = measuring.sampler.trend.growth() if measuring.sampler else None
    return growth.record(measuring.ceiling()) if growth else None


def _used(outcome: Outcome, sampler: Sampler | None) -> dict[str, Any]:
    """CPU time, faults and storage, summed over all reaped processes. A higher sum in the last sample wins."""
    reaped = outcome.used
    used = sampler.tree.usage() if sampler else procfs.Usage()
    if not reaped and not used.cpu_s and not outcome.attached:
        return {}
    unknown = sampler.reader.unknown if sampler else frozenset()

    def most(name: str) -> int | None:
        known = [reaped.get(name), None if name in unknown else getattr(used, name, None)]
        return max((int(size) for size in known if size is not None), default=None)

    return {
        "faults": {"minor": most("minor_faults"), "major": most("major_faults")},
        "storage": {name: most(name) for name in ("read_bytes", "written_bytes", "returned_bytes")},
        "cpu_s": round(max(float(reaped.get("cpu_s", 0.0)), used.cpu_s), 3),
    }


def _marks(peaks: Peaks, log: events.Log | None) -> list[dict[str, Any]]:
    """The high-water marks of ended processes, highest first.

    A process may report its own mark, which is newer than the last sample. It counts if the kernel has no exit record
    of the process, and if it does not exceed the machine's memory.
    """
    processes = {entry["pid"]: dict(entry) for entry in peaks.ended}
    if HWM in peaks.unknown:  # except those from the kernel's exit records
        processes = {pid: entry for pid, entry in processes.items() if entry["final"]}
    memory_bytes = machine.memory_bytes()
    for pid, reported in log.hwm_bytes.items() if log else ():
        entry = processes.get(pid)
        if entry and not entry["final"] and entry["hwm_bytes"] < reported <= memory_bytes:
            entry["hwm_bytes"] = reported
            peaks.run.high_water_bytes = max(peaks.run.high_water_bytes, reported)
    return sorted(processes.values(), key=lambda entry: -entry["hwm_bytes"])


def _peak(sampler: Sampler | None, log: events.Log | None, group: dict[str, Any], outcome: Outcome) -> dict[str, Any]:
    peaks = sampler.peaks if sampler else Peaks()
    run = peaks.run
    ranked = _marks(peaks, log)
    exits = sampler.exits if sampler else None
    has_samples = sampler is not None and sampler.recorder.samples > 0

    def marked(size_bytes: int) -> int | None:
        """A sum or maximum of marks; None if no process had one."""
        return run.marked(size_bytes) if has_samples or ranked else None

    together = marked(run.together_bytes)
    # Anonymous memory shared by several processes; None if nothing counts each page once.
    copied = sampler.copying.record() if sampler and sampler.copying else dict.fromkeys(COPYING)
    others = (run.cgroup_bytes, run.processes_most, run.pss_bytes)
    highest = run.sampled[0] if together is None else together
    marks_bytes = max(peaks.ended_sum_bytes, sum(entry["hwm_bytes"] for entry in ranked))
    return {
        **(run.by_kind if has_samples else dict.fromkeys(run.by_kind)),
        "pss_bytes": run.pss_bytes,
        "uss_bytes": run.uss_bytes,
        "anon_upper_bound_bytes": marked(run.anon_bound_bytes),
        # By how much marks exceed the samples of their own process, summed over processes that lived together.
        "unseen_bytes": marked(run.unseen_bytes),
        "hwm_bytes": {
            "processes": ranked[:_PROCESSES_IN_RECORD],
            "sum_upper_bound_bytes": marked(marks_bytes),
            "concurrent_upper_bound_bytes": together,
            # The largest RSS of one process that was waited for; exec does not set it back.
            "reaped_bytes": int(outcome.used.get("max_rss_bytes", 0)),
            "exits_by_kernel": exits is not None,
            "exits_lost": bool(exits and exits.lost),
            "processes_seen": peaks.seen,
            "never_sampled": peaks.short_lived,
            "lower_bounds": peaks.lower_bounds,
            # Whether another process set one back; None if that would not have been seen.
            "set_back": sampler.marks_set_back if sampler else None,
        },
        "processes": run.processes_most,
        "processes_unread": len(sampler.tree.unreadable | dict.fromkeys(sampler.tree.unlisted)) if sampler else None,
        **copied,
        "course": sampler.course if sampler else [],
        "held_by": peaks.held_by,
        "cgroup_bytes": run.cgroup_bytes,
        "cgroup": group,
        # Of the machine, beyond the charge of the command's group; None if unknown.
        "uncharged_bytes": sampler.kernel.uncharged_bytes if sampler and sampler.kernel and sampler.meter else None,
        "disagreements": _disagreements(run.sampled[0], highest, *others, peaks.short_lived) if has_samples else [],
    }


def _group(counting: Counting, no_group: str | None) -> dict[str, Any]:
    if counting.group:
        group = counting.group
        return {"version": group.version, "resets": group.meter.can_reset, "mechanism": group.mechanism}
    if counting.around and counting.around.whole:
        return {"version": counting.around.meter.version, "resets": False}
    return {"reason": no_group}


def _kept(sampler: Sampler | None, counting: Counting, outcome: Outcome) -> dict[str, Any]:
    """Unreclaimable memory with its source, and the group around ours."""
    kept: dict[str, Any] | None = None
    if sampler and sampler.sharing and sampler.recorder.samples:
        kept = {"basis": memory_request.TREE, **sampler.sharing.record(int(outcome.used.get("minor_faults", 0)))}
        if sampler.meter:  # until processes left its group
            kept["kept_bytes"] = max(kept["kept_bytes"], sampler.meter.kept_bytes)
        kept["whole"] = not (sampler.tree.unreadable or sampler.tree.unlisted)
    elif sampler and sampler.meter:
        basis = (
            memory_request.GROUP if counting.group and sampler.meter is counting.group.meter else memory_request.AROUND
        )
        kept = {"basis": basis, **sampler.meter.record(), "whole": sampler.group_is_whole}
        kept["locked_file_bytes"] = sampler.locked_file_bytes
    around = counting.around.record() if counting.around else None
    if around and counting.group and counting.group.version == 1 and around["kills"] is not None:
        around["kills"] += counting.group.meter.kills() or 0  # v1 counts a kill in the innermost group only
    return {"kept": kept, "around": around}


def _note_uncounted(sampler: Sampler, outcome: Outcome, missing: Missing, *, has_limit: bool) -> None:
    """Note what lived and was not counted: processes, their children, their share of the group, phases."""
    tree, peaks, in_group = sampler.tree, sampler.peaks, sampler.sharing is None and sampler.group_is_whole
    if tree.unreadable:
        counted = "only in the memory group" if sampler.meter and in_group else "nowhere"
        largest = int(outcome.used.get("max_rss_bytes", 0))
        held = f"; of all that were waited for, one had {_mb(largest)} of RSS" if largest else ""
        why = f"{_names(tree.unreadable)} lived and could not be read: counted {counted}; what they started is unknown"
        missing.note(PROCESSES, why + held)
    if others := {pid: peaks.name_of(pid) for pid in tree.unlisted if pid not in tree.unreadable}:
        missing.note(PROCESSES, f"what {_names(others)} started could not be listed, and is not counted")
    if tree.escaped and not (sampler.meter and in_group):
        names = _names(dict.fromkeys(tree.escaped, ""))
        missing.note(
            memory_request.UNSEEN, f"{names} belonged to a PID namespace of others, below which nothing was followed"
        )
    if MARK in sampler.written:
        missing.note("marks", MARK)
    if sampler.exits and sampler.exits.lost:
        missing.note("marks", "those of some processes that ended were lost: too many ended at once")
    if LIMIT in sampler.written and has_limit:
        missing.note("memory limit", LIMIT)
    for did in sampler.written - {MARK, LIMIT}:
        if not sampler.elsewhere or did == PEAK:  # then memory was counted from the processes
            missing.note(memory_request.UNSEEN, did)
    for point in tree.mounts.over if tree.mounts else ():
        missing.note(
            memory_request.UNSEEN, f"something was mounted on {point}, so that others may have been read there"
        )
    if sampler.elsewhere:
        group = next(iter(sampler.elsewhere.values()))
        limit = ", where the limit did not hold it" if has_limit else ""
        names = _names({pid: peaks.name_of(pid) for pid in sampler.elsewhere})
        missing.note(memory_request.UNSEEN, f"the memory of {names} was charged to another group, {group}{limit}")
    if peaks.phases_left_out:
        missing.note("phases", f"the last {peaks.phases_left_out:,} are not in run.json")


def _names(processes: Mapping[int, str]) -> str:
    """Processes by name, as far as known, and id; the first few."""
    named = [f"{name} ({pid})" if name else f"process {pid}" for pid, name in list(processes.items())[:_NAMED]]
    return ", ".join(named) + (f" and {len(processes) - _NAMED:,} more" if len(processes) > _NAMED else "")


def _disagreements(
    sampled: int, together: int, cgroup: int | None, processes: int, pss: int | None = None, unsampled: int = 0
) -> list[str]:
    """One sentence for each pair of sources that differ by more than reading errors explain."""
    sentences = []
    if _apart(together, sampled):
        why = "a spike between two samples" if processes <= 1 else "spikes between samples, or peaks at different times"
        if unsampled:  # the mark of a child of vfork is its parent's
            why = f"spikes, or {unsampled:,} processes that were never sampled"
        sentences.append(f"high water marks add up to {_mb(together)}, samples to {_mb(sampled)}: {why}")
    if cgroup is not None and _apart(sampled, cgroup) and sampled > cgroup:
        sentences.append(f"{_rss(sampled, processes)}, the group held at most {_mb(cgroup)}")
        if pss is not None and pss > cgroup and _apart(pss, cgroup):
            sentences.append(f"PSS was read at {_mb(pss)}: at least {_mb(pss - cgroup)} were charged to another group")
    elif cgroup is not None and _apart(cgroup, sampled) and cgroup > sampled:
        why = "page cache, kernel memory, or spikes between samples"
        sentences.append(f"the group held {_mb(cgroup)}, summed RSS was {_mb(sampled)}: {why}")
    return sentences


def _rss(sampled: int, processes: int) -> str:
    if processes <= 1:
        return f"RSS is {_mb(sampled)}"
    return f"RSS summed over up to {processes} processes is {_mb(sampled)}, with what they share counted in each"


def _apart(one: int, other: int) -> bool:
    difference = abs(one - other)
    return difference > _NOTEWORTHY_BYTES and difference > _NOTEWORTHY_SHARE * max(one, other)


def _mb(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.1f} MB"
