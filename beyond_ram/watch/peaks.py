"""Peaks from several sources, for the run and for each of its phases.

- sampled: the highest sum over the tree in one sample. A lower bound: it misses spikes between two samples.
- high water: VmHWM, the kernel's exact maximum for each process. Writing 5 to /proc/PID/clear_refs resets it at the
  start of a phase. The sum over processes that lived at the same time is an upper bound: they may have peaked at
  different times, and shared pages count in each of them.
- cgroup: the kernel's own total of the whole tree, if the run has its own group. It includes page cache and kernel
  memory.

The kernel counts RSS per processor, so a reading may be wrong by up to 64 pages per processor and kind.
"""

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .exits import Exit
from .reader import HWM
from .tree import Process

KINDS = ("rss_bytes", "anon_bytes", "file_bytes", "shmem_bytes", "swap_bytes")
# Maxima of a span besides the sums of its samples.
_HIGHEST = ("high_water_bytes", "anon_bound_bytes", "together_bytes", "unseen_bytes", "processes_most", "pss_bytes",
            "uss_bytes", "cgroup_bytes")  # fmt: skip
_PROCESSES_KEPT, _PHASES_KEPT, _ENDED_LAST_KEPT = 64, 1000, 4096
# Number of processes named at a peak, and by how much the peak must rise to name them again.
_HOLDERS, _HELD_STEP = 3, 0.01


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
    unseen_bytes: int = 0
    processes_most: int = 0
    cgroup_bytes: int | None = None
    exact: bool = True
    unknown: frozenset[str] = frozenset()
    """Values that the readings lack: kinds, and `hwm_bytes` for the kernel's marks."""
    reset_lag_s: float | None = None
    end_s: float | None = None

    def take(self, totals: Sequence[int], **others: int | None) -> None:
        """Add a sample of this span: its sums in the order of KINDS, and candidates for other maxima."""
        self.sampled = [max(pair) for pair in zip(self.sampled, totals, strict=True)]
        self.rise(**others)

    def rise(self, **sizes: int | None) -> None:
        """Raise each named maximum to the given size if that is higher; None for an unknown size."""
        for name, size in sizes.items():
            if size is not None:
                setattr(self, name, max(getattr(self, name) or 0, size))

    def include(self, other: "Span") -> None:
        """Add the peaks of another span, which is part of this one."""
        self.take(other.sampled, **{name: getattr(other, name) for name in _HIGHEST})

    @property
    def by_kind(self) -> dict[str, int | None]:
        return {kind: None if kind in self.unknown else size for kind, size in zip(KINDS, self.sampled, strict=True)}

    def marked(self, size_bytes: int) -> int | None:
        """A value that depends on the marks of processes; None if they are unknown."""
        return None if HWM in self.unknown else size_bytes

    def record(self) -> dict[str, Any]:
        return {
            "phase": self.name,
            "start_s": round(self.start_s, 6),
            "end_s": round(self.end_s, 6) if self.end_s is not None else None,
            **self.by_kind,
            "pss_bytes": self.pss_bytes,
            "uss_bytes": self.uss_bytes,
            "hwm_bytes": self.marked(self.high_water_bytes),
            "hwm_exact": self.exact and HWM not in self.unknown,
            "concurrent_upper_bound_bytes": self.marked(self.together_bytes),
            "anon_upper_bound_bytes": self.marked(self.anon_bound_bytes),
            "cgroup_bytes": self.cgroup_bytes,
            "reset_lag_s": self.reset_lag_s,
        }


class Peaks:
    """Takes readings, returns peaks. Bounded: names 64 processes and 1,000 phases, and sums up the rest."""

    def __init__(self, *, resets: bool = True, unknown: frozenset[str] = frozenset()) -> None:
        """Without `resets`, a phase has only marks that rise during it. Values in `unknown` have no peak."""
        self._resets, self.unknown = resets, unknown
        self.run = Span("", 0.0, unknown=self.unknown)
        self.phase = Span("", 0.0, unknown=self.unknown)
        self.phases: list[Span] = []
        self.phases_left_out = 0
        self.ended: list[dict[str, Any]] = []
        self.ended_sum_bytes = 0
        self.seen = self.short_lived = self.lower_bounds = 0
        self.held_by: dict[str, list[dict[str, Any]]] = {}
        """By kind of memory: the processes with the most of it in the highest sample, largest first."""
        self._held = {kind: 0 for kind in ("rss_bytes", "anon_bytes") if kind not in self.unknown}
        self.killed: set[int] = set()
        """Processes that SIGKILL ended, as far as the kernel's exit records show."""
        self._orphans: dict[int, list[Exit]] = {}
        """Ended processes of the machine by their parent, which was in no known tree at the last look."""
        self._exits: dict[int, Exit] = {}
        self._ended_last: dict[int, dict[str, Any]] = {}
        """The processes that ended last, by id."""

    def note(
        self, totals: Sequence[int], living: Iterable[Process], gone: Iterable[Process], exits: Iterable[Exit]
    ) -> None:
        """Add a sample: sums in the order of KINDS, living processes, ended processes, the kernel's exit records."""
        living = list(living)
        self._note_holders(totals, living)
        marks = [_marks_with_reading(process) for process in living]
        living_pids = {process.pid for process in living}
        new_exits = self._exits | {exit.pid: exit for exit in exits}
        # The mark of a thread, or of a process that ended after its reading: kept until we notice the end.
        self._exits = {pid: new_exits.pop(pid) for pid in living_pids & new_exits.keys()}
        for process in gone:
            exit = new_exits.pop(process.pid, None)
            if exit is None and process.last is None:
                continue
            if exit is not None:
                process.final = exit.hwm_bytes > process.floor
                process.name = process.name or exit.name
                if exit.hwm_bytes > max(process.hwm, process.floor):
                    # It rose after the last sample; the kind of memory is unknown.
                    process.anon_high = process.hwm = exit.hwm_bytes
            marks.append(_marks(process))
            self._end_process(process)
        for exit in new_exits.values():  # started and ended between two samples
            if self._late(exit):
                continue
            marks.append((exit.hwm_bytes,) * 3)
            self.short_lived += 1
            self._record_end(exit.pid, exit.name, exit.hwm_bytes, final=True)
        highest = max((mark for mark, _, _ in marks), default=0)
        together, anon, unseen = map(sum, zip((0, 0, 0), *marks, strict=True))
        self.phase.take(
            totals,
            high_water_bytes=highest,
            together_bytes=max(together, totals[0]),
            anon_bound_bytes=max(anon, totals[1]),
            unseen_bytes=unseen,
            processes_most=len(living),
        )

    def _late(self, exit: Exit) -> bool:
        """Whether this is the record of a thread that ended after its process, which is counted already."""
        entry = self._ended_last.get(exit.pid)
        if entry is None or not exit.thread:
            return False
        if exit.hwm_bytes > entry["hwm_bytes"]:
            self.ended_sum_bytes += exit.hwm_bytes - entry["hwm_bytes"]
            entry["hwm_bytes"] = exit.hwm_bytes
        return True

    def _note_holders(self, totals: Sequence[int], living: Sequence[Process]) -> None:
        for kind, before in self._held.items():
            total = totals[KINDS.index(kind)]
            if total <= before * (1 + _HELD_STEP):
                continue
            self._held[kind] = total
            sizes = [(getattr(one.last, kind), one.pid, one.name) for one in living if one.last is not None]
            largest = heapq.nlargest(_HOLDERS, sizes)
            self.held_by[kind] = [{"pid": pid, "name": name, "bytes": size} for size, pid, name in largest]

    def note_cgroup(self, peak_bytes: int | None, *, by_phase: bool) -> None:
        """Add the group's peak; `by_phase` if it was reset at the start of the phase."""
        for span in (self.run, self.phase) if by_phase else (self.run,):
            span.rise(cgroup_bytes=peak_bytes)

    def begin(self, name: str, at_s: float, now_s: float, living: Iterable[Process]) -> None:
        """End the phase and begin the next, with the mark of every process reset. Call right after a `note`.

        Growth between the event and the reset counts in the phase before; `reset_lag_s` is that time.
        """
        self.end(at_s)
        self.phase = Span(name, at_s, reset_lag_s=round(now_s - at_s, 6), unknown=self.unknown)
        for process in living:
            process.run_hwm = max(process.run_hwm, process.hwm)
            if self._resets:
                self.phase.exact &= reset_high_water(process.pid)
            else:
                self.phase.exact = False
                process.floor = max(process.floor, process.hwm)
            process.hwm = process.anon_high = process.rss_high = 0

    def end(self, at_s: float) -> None:
        """End the phase, and add its peaks to the run's."""
        self.phase.end_s = at_s
        self.run.include(self.phase)
        if len(self.phases) < _PHASES_KEPT:
            self.phases.append(self.phase)
        else:
            self.phases_left_out += 1

    @property
    def highest_rss_bytes(self) -> int:
        return max(self.run.sampled[0], self.phase.sampled[0])

    def finish(self, living: Iterable[Process]) -> None:
        for process in living:
            self._end_process(process)

    def _end_process(self, process: Process) -> None:
        self.lower_bounds += not process.final
        self._record_end(process.pid, process.name, max(process.run_hwm, process.hwm), final=process.final)

    def _record_end(self, pid: int, name: str, hwm_bytes: int, *, final: bool) -> None:
        self.seen += 1
        self.ended_sum_bytes += hwm_bytes
        entry = {"pid": pid, "name": name, "hwm_bytes": hwm_bytes, "final": final}
        self.ended.append(entry)
        self._ended_last.pop(pid, None)
        self._ended_last[pid] = entry
        if len(self._ended_last) > _ENDED_LAST_KEPT:
            del self._ended_last[next(iter(self._ended_last))]
        if len(self.ended) >= 2 * _PROCESSES_KEPT:
            self.ended.sort(key=lambda entry: -entry["hwm_bytes"])
            del self.ended[_PROCESSES_KEPT:]

    def name_of(self, pid: int) -> str:
        """The name of one of the processes that ended last; empty for others."""
        return str(self._ended_last[pid]["name"]) if pid in self._ended_last else ""

    def own_exits(self, exits: Iterable[Exit], tree: set[int]) -> list[Exit]:
        """The exits of the machine that belong to the tree: those of its processes and of their descendants.

        `tree` contains process ids. A child may have ended before its parent.
        """
        ours: dict[int, Exit] = {}
        orphans, self._orphans = self._orphans, {}
        for exit in exits:
            if exit.pid in tree or exit.parent in tree or exit.parent in ours:
                # A thread may end after its process, with the process's high-water mark; the highest one counts.
                before = ours.get(exit.pid)
                high = exit if before is None or exit.hwm_bytes > before.hwm_bytes else before
                ours[exit.pid] = high._replace(thread=exit.thread and (before is None or before.thread))
                for child in (*orphans.pop(exit.pid, ()), *self._orphans.pop(exit.pid, ())):
                    ours.setdefault(child.pid, child)
            else:
                self._orphans.setdefault(exit.parent, []).append(exit)
        for waiting in (orphans, self._orphans):
            for parent in waiting.keys() & tree:
                for child in waiting.pop(parent):
                    ours.setdefault(child.pid, child)
        self.killed |= {exit.pid for exit in ours.values() if exit.killed}
        # Orphans from the last reading belong to others: by now their parent is listed or has ended. If they were kept
        # longer, the kernel could reuse the parent's id and we would count them by mistake.
        return list(ours.values())


def _marks(process: Process) -> tuple[int, int, int]:
    """The mark of a process, how much of it may be anonymous, and how much of it no sample saw, in bytes."""
    return process.hwm, process.anon_high, max(0, process.hwm - process.rss_high)


def _marks_with_reading(process: Process) -> tuple[int, int, int]:
    """The same, updated with the process's newest reading."""
    now, before = process.last, process.before
    assert now is not None
    mark = now.hwm_bytes if now.hwm_bytes > process.floor else now.rss_bytes
    process.rss_high = max(process.rss_high, now.rss_bytes)
    if mark > process.hwm:
        process.hwm = mark
        if mark > now.rss_bytes:
            # It peaked between two readings. Only files mapped at both of them are surely not anonymous.
            other = min(now.file_bytes + now.shmem_bytes, before.file_bytes + before.shmem_bytes) if before else 0
            process.anon_high = max(process.anon_high, mark - other)
    process.anon_high = max(process.anon_high, now.anon_bytes)
    return _marks(process)


def reset_high_water(pid: int) -> bool:
    """Reset VmHWM to the present RSS. Returns whether that worked; true for a process that has ended."""
    try:
        Path(f"/proc/{pid}/clear_refs").write_bytes(b"5")
    except (FileNotFoundError, ProcessLookupError):
        return True
    except OSError:
        return False
    return True
