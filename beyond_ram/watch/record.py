"""The record of a run: what goes into run.json."""

import json
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import events, machine, pagecache
from .command import Command
from .groups import Group
from .sampler import CPU_BUDGET, Sampler

# Witnesses that differ by more than this, and by more than this share, disagree: then both are printed.
_NOTEWORTHY_BYTES, _NOTEWORTHY_SHARE = 1_000_000, 0.005
_PROCESSES_IN_RECORD = 64
# What of the event `work` goes into the record.
_OF_WORK = (  # noqa: SIM905
    "rows bytes_in tokens rows_per_worker rows_expected rows_delivered rows_twice rows_missing rows_wrong"
).split()


def write(found: dict[str, Any], path: Path) -> None:
    """Whole or not at all."""
    temporary = path.with_name(f".{path.name}.partial")
    temporary.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    temporary.replace(path)


def left_running(sampler: Sampler) -> list[dict[str, Any]]:
    """What outlives the command, as the last sample saw it."""
    return [
        {"pid": process.pid, "name": process.name, "rss_bytes": process.last.rss_bytes}
        for process in sampler.tree.processes.values()
        if process.last
    ]


def make(
    *,
    command: Sequence[str],
    environment: Mapping[str, str],
    running: Command,
    sampler: Sampler,
    log: events.Log,
    interval_ms: int,
    duration_s: float,
    sampler_cpu_s: float,
    ended_by: str | None,
    killed_for_memory: bool,
    memory_limit_bytes: int | None,
    left_running: list[dict[str, Any]],
    group: Group | None,
    no_group: str | None,
    residency: tuple[pagecache.Residency | None, pagecache.Residency | None] | None,
) -> dict[str, Any]:
    status = running.returncode
    assert status is not None
    work = log.last.get("work", {})
    used, storage = sampler.tree.usage()
    reaped = running.used
    read_bytes = max(int(reaped.get("read_bytes", 0)), storage[0] if storage else 0)
    found = {
        "outcome": ended_by or ("completed" if status == 0 else "failed"),
        "completed_work": "work" in log.last if log.has_phases else status == 0,
        "exit_status": status if status >= 0 else None,
        "signal": signal.Signals(-status).name if status < 0 else None,
        "command": list(command),
        "pid": running.pid,
        "cell": {},
        "provenance": {
            "versions": log.last.get("provenance", {}).get("versions", {}),
            **machine.provenance(environment),
        },
        "work": {key: work[key] for key in _OF_WORK if key in work},
        "memory_limit_bytes": memory_limit_bytes,
        # By the limit above, or by that of a group around ours: a job's, a container's.
        "killed_for_memory": killed_for_memory,
        "peak": _peak(sampler, log, group, no_group),
        "phases": [span.record() for span in sampler.peaks.phases],
        "faults": {
            "minor": max(int(reaped.get("minor_faults", 0)), used.minor_faults),
            "major": max(int(reaped.get("major_faults", 0)), used.major_faults),
        },
        "storage": {
            "read_bytes": read_bytes,
            "written_bytes": max(int(reaped.get("written_bytes", 0)), storage[1] if storage else 0),
        },
        "left_running": left_running,
        "sampler": {
            "interval_ms": interval_ms,
            "interval_used_ms": round(1000 * duration_s / max(sampler.recorder.samples, 1), 1),
            "samples": sampler.recorder.samples,
            "lines": sampler.recorder.lines,
            "samples_per_line": sampler.recorder.per_line,
            "duty_cycle": round(sampler_cpu_s / max(duration_s, 1e-9), 5),
            "budget": CPU_BUDGET,
        },
        "duration_s": round(duration_s, 6),
        "cpu_s": round(max(float(reaped.get("cpu_s", 0.0)), used.cpu_s), 3),
    }
    if residency:
        found["page_cache"] = pagecache.record(*residency, read_bytes)
    return found


def _peak(sampler: Sampler, log: events.Log, group: Group | None, no_group: str | None) -> dict[str, Any]:
    peaks, run = sampler.peaks, sampler.peaks.run
    processes = {entry["pid"]: dict(entry) for entry in peaks.ended}
    for pid, reported in log.hwm_bytes.items():  # a process knows its own mark at its end better than the last sample
        if pid in processes and reported > processes[pid]["hwm_bytes"]:
            processes[pid]["hwm_bytes"] = reported
            run.high_water_bytes = max(run.high_water_bytes, reported)
    ranked = sorted(processes.values(), key=lambda entry: -entry["hwm_bytes"])
    witnesses = [
        _witness("sampled", run.by_kind["rss_bytes"], "lower bound", "highest sample of RSS summed over the tree"),
        _witness("high water, one process", run.high_water_bytes, "exact", "kernel's mark of the largest process"),
        _witness("high water, summed", run.together_bytes, "upper bound", "marks of all that lived at the same time"),
        _witness("pss", run.pss_bytes, "lower bound", "highest reading of PSS: shared pages once, read seldom"),
        _witness(
            "cgroup", run.cgroup_bytes, "exact", "kernel's total, with page cache and kernel memory, each page once"
        ),
    ]
    return {
        **(run.by_kind if sampler.recorder.samples else dict.fromkeys(run.by_kind)),
        "pss_bytes": run.pss_bytes,
        "uss_bytes": run.uss_bytes,
        "anon_upper_bound_bytes": run.anon_bound_bytes,
        "hwm_bytes": {
            "processes": ranked[:_PROCESSES_IN_RECORD],
            "sum_upper_bound_bytes": max(peaks.ended_sum_bytes, sum(entry["hwm_bytes"] for entry in ranked)),
            "concurrent_upper_bound_bytes": run.together_bytes,
            "last_words_by_kernel": sampler.exits is not None,
            "last_words_lost": bool(sampler.exits and sampler.exits.lost),
            "processes_seen": peaks.seen,
            "never_sampled": peaks.short_lived,
            "lower_bounds": peaks.lower_bounds,
        },
        "processes": run.processes_most,
        "cgroup_bytes": run.cgroup_bytes,
        "cgroup": {"version": group.version, "resets": group.can_reset} if group else {"reason": no_group},
        "witnesses": witnesses,
        "disagreements": _disagreements(
            run.by_kind["rss_bytes"], run.together_bytes, run.cgroup_bytes, run.processes_most
        ),
    }


def _witness(name: str, value: int | None, bound: str, means: str) -> dict[str, Any]:
    return {"witness": name, "bytes": value, "bound": bound, "means": means}


def _disagreements(sampled: int, together: int, cgroup: int | None, processes: int) -> list[str]:
    """One sentence for each pair of witnesses that are further apart than reading can make them."""
    said = []
    if _apart(together, sampled):
        why = "a spike between two samples" if processes <= 1 else "spikes between samples, or peaks at different times"
        said.append(f"high water marks add up to {_mb(together)}, samples to {_mb(sampled)}: {why}")
    if cgroup is not None and _apart(sampled, cgroup) and sampled > cgroup:
        said.append(f"summed RSS is {_mb(sampled)}, the group held {_mb(cgroup)}: pages are shared and counted in each")
    elif cgroup is not None and _apart(cgroup, sampled) and cgroup > sampled:
        why = "page cache, kernel memory, or spikes between samples"
        said.append(f"the group held {_mb(cgroup)}, summed RSS was {_mb(sampled)}: {why}")
    return said


def _apart(one: int, other: int) -> bool:
    difference = abs(one - other)
    return difference > _NOTEWORTHY_BYTES and difference > _NOTEWORTHY_SHARE * max(one, other)


def _mb(size_bytes: int) -> str:
    return f"{size_bytes / 1e6:,.1f} MB"
