"""Peaks from several witnesses, for the run and for each phase of it.

sampled      the highest sample of the sum over the tree. A lower bound: what rose and fell between two samples is
missed. high water   VmHWM, kept by the kernel for each process, exact whatever the sampling. Reset at a phase's start
(a 5 written
             to /proc/PID/clear_refs), so that each phase has its own. The sum over processes that lived at the same
             time is an upper bound: they need not have peaked together, and pages that they share count in each.
cgroup       the kernel's own simultaneous total where the run has a group of its own; page cache and kernel memory
count.

The kernel keeps RSS in counters per processor: a reading may be off by up to 64 pages per processor and kind.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .exits import Exit
from .tree import Process

KINDS = ("rss_bytes", "anon_bytes", "file_bytes", "shmem_bytes", "swap_bytes", "hugetlb_bytes")
_PROCESSES_KEPT, _PHASES_KEPT = 64, 1000


@dataclass
class Span:
    """The peaks of one span of time: the run, or a phase."""

    name: str
    start_s: float
    sampled: list[int] = field(default_factory=lambda: [0] * len(KINDS))
    pss_bytes: int | None = None
    uss_bytes: int | None = None
    high_water_bytes: int = 0
    anon_bound_bytes: int = 0
    together_bytes: int = 0
    processes_most: int = 0
    cgroup_bytes: int | None = None
    exact: bool = True
    reset_lag_s: float | None = None
    end_s: float | None = None

    def take(self, totals: Sequence[int], high_water: int, together: int, anon: int, processes: int) -> None:
        self.sampled = [max(pair) for pair in zip(self.sampled, totals, strict=True)]
        self.high_water_bytes = max(self.high_water_bytes, high_water)
        self.together_bytes = max(self.together_bytes, together, totals[0])
        self.anon_bound_bytes = max(self.anon_bound_bytes, anon, totals[1])
        self.processes_most = max(self.processes_most, processes)

    def include(self, other: "Span") -> None:
        """A part of this span: its peaks are this one's too."""
        self.take(
            other.sampled, other.high_water_bytes, other.together_bytes, other.anon_bound_bytes, other.processes_most
        )
        for name in ("pss_bytes", "uss_bytes", "cgroup_bytes"):
            if (value := getattr(other, name)) is not None:
                setattr(self, name, max(getattr(self, name) or 0, value))

    @property
    def by_kind(self) -> dict[str, int]:
        return dict(zip(KINDS, self.sampled, strict=True))

    def record(self) -> dict[str, Any]:
        return {
            "phase": self.name,
            "start_s": round(self.start_s, 6),
            "end_s": round(self.end_s, 6) if self.end_s is not None else None,
            **self.by_kind,
            "pss_bytes": self.pss_bytes,
            "uss_bytes": self.uss_bytes,
            "hwm_bytes": self.high_water_bytes,
            "hwm_exact": self.exact,
            "concurrent_upper_bound_bytes": self.together_bytes,
            "anon_upper_bound_bytes": self.anon_bound_bytes,
            "cgroup_bytes": self.cgroup_bytes,
            "reset_lag_s": self.reset_lag_s,
        }


class Peaks:
    """Takes readings in, gives peaks out. Bounded: 64 processes by name and 1,000 phases; the rest as sums."""

    def __init__(self) -> None:
        self.run = Span("", 0.0)
        self.phase = Span("", 0.0)
        self.phases: list[Span] = []
        self.ended: list[dict[str, Any]] = []
        self.ended_sum_bytes = 0
        self.seen = self.short_lived = self.lower_bounds = 0
        self._strangers: dict[int, list[Exit]] = {}
        self._last_words: dict[int, Exit] = {}

    def note(
        self, totals: Sequence[int], living: Iterable[Process], gone: Iterable[Process], exits: Iterable[Exit]
    ) -> None:
        """One sample: the sums over the tree in the order of KINDS, who lives, who has ended, the last words."""
        together = anon = processes = 0
        highest, here = 0, set()
        for process in living:
            _note_reading(process)
            here.add(process.pid)
            together += process.hwm
            anon += process.anon_high
            highest = max(highest, process.hwm)
            processes += 1
        last_words = self._last_words | {left.pid: left for left in exits}
        # A thread's end, or that of a process which ended after it was read: kept until the process is found to be
        # gone.
        self._last_words = {pid: last_words.pop(pid) for pid in here & last_words.keys()}
        for process in gone:
            left = last_words.pop(process.pid, None)
            if left is None and process.last is None:
                continue
            if left is not None:
                process.final = True
                process.name = process.name or left.name
                if left.hwm_bytes > process.hwm:  # rose after the last sample: what kind of memory, nobody saw
                    process.anon_high = process.hwm = left.hwm_bytes
            together += process.hwm
            anon += process.anon_high
            highest = max(highest, process.hwm)
            self._bury(process)
        for left in last_words.values():  # lived and died between two samples
            together += left.hwm_bytes
            anon += left.hwm_bytes
            highest = max(highest, left.hwm_bytes)
            self.short_lived += 1
            self._enter(left.pid, left.name, left.hwm_bytes, final=True)
        self.phase.take(totals, highest, together, anon, processes)

    def note_proportional(self, pss_bytes: int, uss_bytes: int) -> None:
        self.phase.pss_bytes = max(self.phase.pss_bytes or 0, pss_bytes)
        self.phase.uss_bytes = max(self.phase.uss_bytes or 0, uss_bytes)

    def note_cgroup(self, peak_bytes: int | None, *, by_phase: bool) -> None:
        """The group's peak; `by_phase` where it could be reset at the start of the phase."""
        if peak_bytes is not None:
            for span in (self.run, self.phase) if by_phase else (self.run,):
                span.cgroup_bytes = max(span.cgroup_bytes or 0, peak_bytes)

    def begin(self, name: str, at_s: float, now_s: float, living: Iterable[Process]) -> None:
        """Close the phase and open the next: every process's mark begins anew. Call right after a `note`.

        What rises between the event and the reset counts to the phase before: `reset_lag_s` is that window.
        """
        self.end(at_s)
        self.phase = Span(name, at_s, reset_lag_s=round(now_s - at_s, 6))
        for process in living:
            process.run_hwm = max(process.run_hwm, process.hwm)
            self.phase.exact &= _reset_high_water(process.pid)
            process.hwm = process.anon_high = 0

    def end(self, at_s: float) -> None:
        """Close the phase: from now on its peaks are the run's too."""
        self.phase.end_s = at_s
        self.run.include(self.phase)
        if len(self.phases) < _PHASES_KEPT:
            self.phases.append(self.phase)

    @property
    def highest_rss_bytes(self) -> int:
        return max(self.run.sampled[0], self.phase.sampled[0])

    def finish(self, living: Iterable[Process]) -> None:
        for process in living:
            self._bury(process)

    def _bury(self, process: Process) -> None:
        self.lower_bounds += not process.final
        self._enter(process.pid, process.name, max(process.run_hwm, process.hwm), final=process.final)

    def _enter(self, pid: int, name: str, hwm_bytes: int, *, final: bool) -> None:
        self.seen += 1
        self.ended_sum_bytes += hwm_bytes
        self.ended.append({"pid": pid, "name": name, "hwm_bytes": hwm_bytes, "final": final})
        if len(self.ended) >= 2 * _PROCESSES_KEPT:
            self.ended.sort(key=lambda entry: -entry["hwm_bytes"])
            del self.ended[_PROCESSES_KEPT:]

    def own_exits(self, exits: Iterable[Exit], known: set[int]) -> list[Exit]:
        """Those of the machine's exits that belong to the tree: of a known process, or of a descendant of one."""
        found: dict[int, Exit] = {}
        for left in exits:
            if left.pid in known or left.parent in known or left.parent in found:
                # A thread's last word may come after its process's: the mark is the process's, the highest one holds.
                before = found.get(left.pid)
                found[left.pid] = left if before is None or left.hwm_bytes > before.hwm_bytes else before
                for child in self._strangers.pop(left.pid, []):
                    found.setdefault(child.pid, child)
            elif len(self._strangers) < 4096:
                self._strangers.setdefault(left.parent, []).append(left)
        for parent in [pid for pid in self._strangers if pid in known]:
            for child in self._strangers.pop(parent):
                found.setdefault(child.pid, child)
        if len(self._strangers) >= 4096:
            self._strangers.clear()
        return list(found.values())


def _note_reading(process: Process) -> None:
    """Renew a process's mark and its highest possible anonymous memory from its newest reading."""
    now, before = process.last, process.before
    assert now is not None
    mark = now.hwm_bytes
    if mark > process.hwm:
        process.hwm = mark
        if mark > now.rss_bytes:
            # It rose above both readings around it. Only what was mapped at both is known not to have been anonymous.
            other = min(now.file_bytes + now.shmem_bytes, before.file_bytes + before.shmem_bytes) if before else 0
            process.anon_high = max(process.anon_high, mark - other)
    process.anon_high = max(process.anon_high, now.anon_bytes)


def _reset_high_water(pid: int) -> bool:
    """Set VmHWM back to the present RSS; whether that went well. One that is gone needs none."""
    try:
        descriptor = os.open(f"/proc/{pid}/clear_refs", os.O_WRONLY)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        os.write(descriptor, b"5")
    except ProcessLookupError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
