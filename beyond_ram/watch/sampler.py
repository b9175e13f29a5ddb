"""Samples of a process tree, taken from outside, within a stated share of one core."""

import math
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import memory_request
from ..records.run_files import COLUMNS
from ..records.run_json import ProcessEntry
from . import pressure, procfs
from .exits import Exit, Exits
from .groups import Group
from .hidden import MARK, Writes
from .kernel_memory import KernelMemory
from .memory_group import Around, Elsewhere, GroupMeter
from .missing import PROPORTIONAL, Missing, NotedStep, printable
from .peaks import KINDS, Peaks
from .procfs import Proportional
from .recorder import Recorder
from .sharing import Sample, Sharing, Twice, read_now
from .timeline import Copying
from .tree import Process, Tree
from .trend import Trend

# Budget of the sampler's own CPU time as a share of one core: while memory changes, and while no reading changes.
# Samples that cost more come less often.
CPU_BUDGET, CALM_CPU_BUDGET = 0.04, 0.007
# Every event gets a sample at once, unless a program emits thousands a second: these samples have an allowance of this
# much CPU time, refilled at CPU_BUDGET. When it is used up, events wait for the next regular sample.
_EVENTS_ALLOWANCE_S = 0.1
_EVENTS_APART_S = 0.005
# PSS and USS walk the page tables, under the lock of the process's address space: 14 to 50 ms per GB. Phase marks
# always have them; other events and the time between only while their CPU time stays below this share of the elapsed
# time. Elapsed time would be no measure of them: on a busy machine, others take most of it.
PROPORTIONAL_BUDGET = 0.001
_EVENTS_PROPORTIONAL_BUDGET = 0.01
# CPU seconds that a run may spend on PSS and USS at once, so that a short run has a reading too.
_PROPORTIONAL_ALLOWANCE_S = 0.03
# While memory rises and is close to its maximum so far, samples come this many times as often, to catch a peak.
_PEAK_SPEEDUP, _PEAK_FROM = 5, 0.9
_PROPORTIONAL_EVERY_S = 0.25
# Without a group, PSS counts shared pages once: CPU seconds to spend on it at once, and as a share of the time.
_SHARING_ALLOWANCE_S, _SHARING_BUDGET, _SHARING_APART_S = 0.3, 0.005, 0.05
# A reading of PSS during which memory changed by more than this is discarded.
_STILL_BYTES, _STILL_SHARE = 1_000_000, 0.01
# Later than this, a sample counts as not taken.
_LATE_S = 0.5
# While memory changes, look this often whether processes have moved to another group.
_ELSEWHERE_EVERY_S = 0.1
# Listings at the end until one of the listed processes can be read: all may be zombies.
_LAST_LOOKS = 20
_PROPORTIONAL_S_PER_BYTE = 40e-12
# CPU, faults and storage grow steadily and have no peaks to miss: read this often, and at events.
_USAGE_EVERY_S = 0.5
_EMPTY = ("",) * 13  # PSS, USS, CPU, storage, faults, PSS by kind, pressure, and kept memory of a row without them


def _kept_of(row: dict[str, Any]) -> int:
    """Unreclaimable memory of a row, as far as known."""
    if row["kept_bytes"] != "":
        return int(row["kept_bytes"])
    if "" in (row["anon_bytes"], row["shmem_bytes"]):
        return int(row["rss_bytes"])
    return int(row["anon_bytes"]) + int(row["shmem_bytes"])


@dataclass
class Counting:
    """Sources that count each page of the tree once; None if unavailable."""

    group: Group | None = None
    around: Around | None = None
    sharing: Sharing | None = None
    kernel: KernelMemory | None = None
    writes: Writes | None = None
    """Who set back what the kernel counts, or moved a process to another group."""


class Sampler:
    """Reads all processes of a tree, and keeps lines and peaks."""

    def __init__(
        self,
        path: Path,
        start_s: float,
        tree: Tree,
        *,
        counting: Counting | None = None,
        missing: Missing | None = None,
    ) -> None:
        self.start_s = start_s
        self._missing = missing or Missing()
        self.recorder = Recorder(path, self._missing)
        self.tree, self.reader = tree, tree.reader
        self.peaks = Peaks(resets=tree.resets, unknown=self.reader.unknown)
        self._unknown = [name for name in COLUMNS if name in self.reader.unknown]
        if self._unknown:
            why = f"read through psutil, which does not know them: {self.reader.why}"
            self._missing.note(f"{', '.join(self._unknown)}, and the kernel's marks", why)
        self.exits = self._missing.attempt("exit records", Exits.open, None)
        self.cost_s = 0.0
        self._open_counting(counting or Counting())
        self._writers: list[tuple[int, str]] = []
        self._writers_ended: list[tuple[int, str]] = []
        """Those that have ended, and whose records the kernel may not have sent yet."""
        self.written: set[str] = set()
        """What processes of the tree set back, and where they were moved."""
        self._last_pids: set[int] = set()
        self.copying: Copying | None = None
        """None if nothing counts each page once."""
        self.course: list[dict[str, Any]] = []
        self.trend = Trend()
        self._sharing_s = 0.0
        self._noted_listing = 0
        self._sums, self.locked_file_bytes = [0] * 5, 0
        self._spent_s = time.process_time()
        self._proportional_s = self._proportional_rate = 0.0
        self._proportional_at = start_s
        self._covered: bool | None = None
        """Whether a reading of PSS covered all memory; None before the first."""
        self._usage_at = -math.inf
        self._phase = ""
        self._phase_is_new = False
        """Whether the phase has no reading yet."""
        self._peaking, self._changed = False, True
        self._events_s, self._events_at = 0.0, start_s
        self._due_s, self._began_s, self._began_cpu_s = math.inf, start_s, 0.0

    def _open_counting(self, counting: Counting) -> None:
        """Choose what counts each page of the tree once, and open the pressure file."""
        group, around, self._writes = counting.group, counting.around, counting.writes
        self.kernel = counting.kernel
        self.meter: GroupMeter | None = None
        """The meter of a group that contains only the tree; None without one."""
        if group:
            self.meter = group.meter
        elif around and around.alone:
            self.meter = around.meter
        # Whether all of the group is the tree's: then its peak is too.
        self._ours = bool(group or (around and around.whole))
        self._elsewhere = Elsewhere(self.meter.path) if self.meter and not self.tree.by_group else None
        self._elsewhere_at, self._elsewhere_listing = -math.inf, -1
        self.group_is_whole = True
        """Whether all processes were charged to the meter's group whenever that was looked at."""
        # Opened before the first sample: waiting counts from here.
        own = group.path if group else None
        self.pressure = self._missing.attempt("pressure", lambda: pressure.open_first(own, around), None)
        self.sharing: Sharing | None = None
        self._sharing_since_start = None if self._unknown else counting.sharing
        if self.meter is None and not self._unknown:
            self.sharing = counting.sharing or self._missing.attempt("shared pages", Sharing, None)

    def close(self) -> None:
        parts = (self.recorder, self.tree, self.exits, self.sharing, self.kernel, self.pressure)
        closes = [part.close for part in parts if part]
        for close in closes:
            with self._missing.step("samples"):
                close()

    def sample(self, *, event: bool = False, proportional: bool = False) -> dict[str, Any] | None:
        """Read the tree once, write the row and return it; None if no process could be read.

        At an `event`, CPU, faults and storage are read too, and PSS and USS if their budget allows; `proportional`
        reads these whatever they cost. Values that cannot be read are noted, and read again with the next sample.
        """
        with self._missing.step("samples") as step:
            return self._sample(event=event, proportional=proportional)
        if self.sharing or not self.meter:
            self._note_unread(step)
        else:  # the group is read without its processes
            self._note_kept([])
        with self._missing.step("samples"):
            self.tree.doubt()
            if step.no_room:
                self.reader.keep_fewer_open()
        return None

    def _sample(self, *, event: bool, proportional: bool) -> dict[str, Any] | None:
        now = time.monotonic()
        if (late_s := now - self._due_s - (time.process_time() - self._began_cpu_s)) > _LATE_S:
            why = "this process was stopped or had no processor"
            self._missing.note(memory_request.UNSEEN, f"nothing was read for {late_s:,.1f} s: {why}")
        with self._missing.step("writes to files of the kernel"):
            self._writers += self._writes.new() if self._writes else []
        self._began_s, self._began_cpu_s = now, time.process_time()
        changed, ended = self.tree.memory()
        living = self.tree.living
        self._peaking, self._changed = False, changed
        if changed or self._phase_is_new:  # otherwise the processes and their memory are unchanged
            self._note(living, ended)
            self._note_writers()
            self._phase_is_new = False
        if self._elsewhere and self._look_is_due(living, now):
            with self._missing.step("the memory group") as step:
                self._look_elsewhere(self._elsewhere, living, now)
            self.group_is_whole &= not step.failed
        self._changed |= self._note_kept(living)
        spent = time.process_time()
        own_s = max(0.0, spent - self._spent_s)
        self.cost_s += 0.1 * (own_s - self.cost_s)
        if event:
            self._events_s = max(0.0, self._events_s - CPU_BUDGET * (now - self._events_at)) + own_s
            self._events_at = now
        row = None
        if living:
            values = (round(now - self.start_s, 6), self._phase, len(living), *self._sums, *_EMPTY)
            row = dict(zip(COLUMNS, values, strict=True))
            for name in self._unknown:
                row[name] = ""
            self._put_kept(row)
            if row["kept_bytes"] != "" or len(living) == 1:  # a sum over processes counts shared pages in each
                self.trend.note(now - self.start_s, max(0, _kept_of(row) - self._perhaps_given_back_bytes()))
            if event or now - self._usage_at >= _USAGE_EVERY_S:
                self._usage_at = now
                with self._missing.step("CPU time and storage"):
                    self._read_usage(row)
                with self._missing.step("pressure"):
                    if self.pressure:
                        row["pressure_some_s"], row["pressure_full_s"] = self.pressure.read()
            if proportional or self._proportional_is_due(now, self._sums[0], event=event):
                with self._missing.step(PROPORTIONAL):
                    self._read_proportional(row, living)
                spent = time.process_time()  # has its own budget
            with self._missing.step("samples.csv"):
                self.recorder.write(tuple(row.values()))
        self._spent_s = spent
        return row

    def _note(self, living: list[Process], ended: list[Process]) -> None:
        pids = {process.pid for process in living}
        exits: list[Exit] = []
        with self._missing.step("exit records"):
            if self.exits:
                exits = self.peaks.own_exits(self.exits.new(), {*pids, *self._last_pids, self.tree.root} - {0})
        self._last_pids = pids
        totals = [0] * len(KINDS)
        if living:
            sums = map(sum, zip(*(p.last for p in living if p.last), strict=True))
            _, anon, file, shmem, swap, _, _, _, other = sums
            totals = [anon + file + shmem + other, anon, file, shmem, swap]
            locked = sum(min(p.last.locked_bytes, p.last.file_bytes) for p in living if p.last)
            self.locked_file_bytes = max(self.locked_file_bytes, locked)
        self._peaking = totals[0] > max(self._sums[0], _PEAK_FROM * self.peaks.highest_rss_bytes)
        self._sums = totals
        for process in living:
            process.name = printable(process.comm.decode(errors="replace"))
        self.peaks.note(totals, living, ended, exits)

    def _note_writers(self) -> None:
        """Keep what processes of the tree wrote to files of the kernel."""
        writers, ended, self._writers, self._writers_ended = self._writers, self._writers_ended, [], []
        for pid, did in (*ended, *writers):
            above = procfs.ancestors(pid) if pid else set()
            # Who has ended is in the kernel's record; where there is none, it may have been of the tree.
            known = self.peaks.name_of(pid) or (not self.exits and len(above) < 2 and "beyond-ram-" not in did)
            if pid and (pid == os.getpid() or self.tree.root in above or known):
                self.written.add(did)
            elif pid and len(above) < 2 and (pid, did) not in ended:
                self._writers_ended.append((pid, did))

    @property
    def marks_set_back(self) -> bool | None:
        """Whether another process set back a mark of the tree; None if that would not have been seen."""
        return MARK in self.written or (False if self._writes and self._writes.sees_marks else None)

    @property
    def elsewhere(self) -> dict[int, str]:
        """Processes that were charged to another group than the meter's, with that group."""
        return self._elsewhere.processes if self._elsewhere else {}

    def _look_is_due(self, living: list[Process], now: float) -> bool:
        if not living and not self.tree.hidden:
            return False
        if self.tree.listings != self._elsewhere_listing:
            return True
        if not self._changed or self.sharing or not self.meter or not self.meter.now:
            return False
        if now - self._elsewhere_at > _ELSEWHERE_EVERY_S:
            return True
        # A group that holds less than one of the processes is not charged with it.
        held = self.meter.now.usage_bytes + self.meter.now.away_bytes
        return max((one.last.anon_bytes for one in living if one.last), default=0) > held

    def _look_elsewhere(self, elsewhere: Elsewhere, living: list[Process], now: float) -> None:
        """Look whether processes have left the group. Then kept memory is counted from the processes too."""
        self._elsewhere_at, self._elsewhere_listing = now, self.tree.listings
        if not elsewhere.look([*(one.pid for one in living), *self.tree.hidden]):
            self.group_is_whole = False
        if elsewhere.processes and self.sharing is None:
            # What the group says of shared pages is wrong for processes outside.
            self.sharing, self.copying = self._sharing_since_start, None

    def _note_kept(self, living: list[Process]) -> bool:
        """Note unreclaimable memory. Returns whether the group's usage changed."""
        new = False
        with self._missing.step("cgroup") as step:
            if self.meter:
                before = self.meter.sampled_bytes
                new = self.meter.look()
                self._peaking |= self.meter.sampled_bytes > before
                several = len(living) > 1 and not (self._unknown or self.sharing or self.meter.nests)
                if new and several and (charges := self.meter.now):
                    self._note_copying(living, charges.anon_bytes + charges.swap_bytes)
                if new and self._ours:
                    self.peaks.note_cgroup(self.meter.high_bytes, by_phase=self.meter.can_reset)
        self._note_unread(step)
        with self._missing.step("kernel memory"):
            if self.kernel and self.meter:
                self.kernel.look(time.monotonic(), self.meter.unlisted_grown_bytes)
        with self._missing.step("shared pages") as step:
            # Other programs may change the machine's shared memory, so it does not speed up sampling. Copying on write
            # changes nothing else. A process that ends before it is listed shows in the faults of its parent.
            if self.sharing and living:
                listed, self._noted_listing = self.tree.listings != self._noted_listing, self.tree.listings
                if self.sharing.look() or self.tree.changed or listed or self.sharing.shares:
                    self.sharing.note(self._sharing_sample(self.sharing, living))
        self._note_unread(step)
        return new

    def _note_unread(self, step: NotedStep) -> None:
        """Note that kept memory was not read at a time, if a step that reads it has failed."""
        if step.failed:
            self._missing.note(memory_request.UNSEEN, "kept memory could not be read at times")

    def _put_kept(self, row: dict[str, Any]) -> None:
        """Set kept memory, and the group's usage with page cache, if something counts them."""
        if self.meter and self.meter.now:
            row["kept_bytes"] = self.meter.kept_now_bytes
            row["cgroup_bytes"] = self.meter.now.usage_bytes if self._ours else ""
        if self.sharing:
            row["kept_bytes"] = self.sharing.kept_now_bytes

    def _perhaps_given_back_bytes(self) -> int:
        """How much of kept memory the kernel may give back: a group of v1 does not say (`why`)."""
        if self.sharing or not self.meter or self.meter.version != 1 or self.meter.nests:
            return 0
        return max(0, self.meter.unlisted_grown_bytes)

    def _note_copying(self, living: list[Process], once_bytes: int) -> None:
        self.copying = self.copying or Copying()
        anon = sum(one.last.anon_bytes + one.last.swap_bytes for one in living if one.last)
        # What a process freed before the second sum was read is not shared.
        if anon - once_bytes <= self.copying.shared_bytes or self._stood_still(living):
            self.copying.note(frozenset(one.pid for one in living), anon, once_bytes)

    def _sharing_sample(self, sharing: Sharing, living: list[Process]) -> Sample:
        origins = self.tree.origins()
        readings = {one.pid: (one.last, origins[one.pid]) for one in living if one.last and one.pid in origins}
        return sharing.sample(readings, self.tree.faults)

    def begin_phase(self, name: str, at_s: float) -> dict[str, Any] | None:
        """Take the last reading of the ending phase, reset every mark, and take the first reading of the new phase."""
        self.sample()
        self.peaks.begin(name, at_s, time.monotonic() - self.start_s, self.tree.living)
        self._phase, self._phase_is_new = name, True
        return self.sample(event=True, proportional=True)

    def finish(self, end_s: float) -> None:
        """Take the last sample, right after the command has ended. It mostly reads the kernel's exit records."""
        self.sample()
        with self._missing.step("pressure"):
            if self.pressure:
                self.pressure.read()
        with self._missing.step("shared pages") as step:
            if self.sharing:
                self.sharing.end()
        self._note_unread(step)
        if self._covered is False:
            self._missing.note(PROPORTIONAL, "each reading covered less than the processes held, and was left out")
        self.peaks.end(end_s)
        self.peaks.finish(self.tree.living)

    def left_running(self) -> list[ProcessEntry]:
        """Processes that outlive the command: those of the last sample, else any that is below the guard now."""
        sampled: list[ProcessEntry] = [
            {"pid": process.pid, "name": process.name, "rss_bytes": process.last.rss_bytes}
            for process in self.tree.processes.values()
            if process.last
        ]
        # One that was listed may have ended, and left a child, before it was read.
        for _ in range(_LAST_LOOKS if not sampled else 0):
            if not (pids := self.tree.listed()):
                break
            for pid in pids:
                if memory := self.reader.memory(pid):
                    sampled.append({"pid": pid, "name": self.reader.name_of(pid), "rss_bytes": memory.rss_bytes})
            if sampled:
                break
        return sampled

    def interval_s(self, requested_s: float) -> float:
        """Seconds from one sample to the next: as requested, or longer if samples cost too much."""
        budget = CPU_BUDGET if self._changed else CALM_CPU_BUDGET
        wait_s = max(requested_s / _PEAK_SPEEDUP if self._peaking else requested_s, min(self.cost_s / budget, 5.0))
        self._due_s = self._began_s + wait_s
        return wait_s

    def ignore_events_until_s(self) -> float:
        """The time until which events do not wake the watcher, on the monotonic clock."""
        beyond_s = max(0.0, self._events_s - _EVENTS_ALLOWANCE_S)
        return self._events_at + max(_EVENTS_APART_S, beyond_s / CPU_BUDGET)

    def _read_usage(self, row: dict[str, Any]) -> None:
        used = self.tree.usage()._asdict()
        row["cpu_s"] = round(used.pop("cpu_s"), 3)
        row |= {name: size for name, size in used.items() if size is not None and name not in self.reader.unknown}

    def _proportional_is_due(self, now: float, rss_bytes: int, *, event: bool) -> bool:
        expected_s = (self._proportional_rate or _PROPORTIONAL_S_PER_BYTE) * rss_bytes
        since_s = now - self._proportional_at
        if self.sharing and since_s > _SHARING_APART_S:
            most_s = _SHARING_ALLOWANCE_S + _SHARING_BUDGET * (now - self.start_s)
            spent = (self._sharing_s + expected_s) / most_s
            if spent < 1 and self.sharing.worth_reading(spent, since_s):
                return True
        if since_s < _PROPORTIONAL_EVERY_S and not event:
            return False
        budget = _EVENTS_PROPORTIONAL_BUDGET if event else PROPORTIONAL_BUDGET
        return self._proportional_s + expected_s < budget * (now - self.start_s) + _PROPORTIONAL_ALLOWANCE_S

    def _read_proportional(self, row: dict[str, Any], living: list[Process]) -> None:
        began_s = time.thread_time()
        sharing = self.sharing if len(living) > 1 else None
        before = self._sharing_sample(sharing, living) if sharing else None
        readings = [self.reader.proportional(process.pid) for process in living]
        self._proportional_at = time.monotonic()
        took_s = time.thread_time() - began_s
        self._proportional_s += took_s
        self._sharing_s += took_s
        self._proportional_rate = took_s / max(row["rss_bytes"], 1)
        read = {process.pid: one for process, one in zip(living, readings, strict=True) if one is not None}
        complete = all(one.complete for one in read.values())
        if len(read) < len(readings):
            self._note_denied([process.pid for process in living if process.pid not in read])
        else:
            self._covered = self._covered or complete
        if before and sharing and complete:
            self._add_to_sharing(sharing, before, read)
        if complete and len(read) == len(readings) and self._stood_still(living):
            self._put_proportional(row, living, list(read.values()))

    def _put_proportional(self, row: dict[str, Any], living: list[Process], read: list[Proportional]) -> None:
        for name in ("pss_bytes", "uss_bytes"):
            if name not in self.reader.unknown:
                row[name] = sum(getattr(one, name) for one in read)
        for name in ("pss_anon_bytes", "pss_shmem_bytes"):
            sizes = [size for one in read if (size := getattr(one, name)) is not None]
            row[name] = sum(sizes) if len(sizes) == len(read) else ""
        by_group = self.meter is not None and self.sharing is None
        if row["pss_anon_bytes"] != "" and not by_group and len(living) > 1 and not self._unknown:
            shared = sum(one.shared_anon_bytes for one in read)
            anon = sum(one.last.anon_bytes + one.last.swap_bytes for one in living if one.last)
            self._note_copying(living, anon - shared)
        known = {name: row[name] for name in ("pss_bytes", "uss_bytes") if row[name] != ""}
        self.peaks.phase.rise(**known)

    def _add_to_sharing(self, sharing: Sharing, before: Sample, read: dict[int, Proportional]) -> None:
        now = read_now(before.processes)
        shmem = sum(one.pss_shmem_bytes or 0 for pid, one in read.items() if pid in now)
        if not now or not now.keys() <= read.keys() or any(one.pss_shmem_bytes is None for one in read.values()):
            return
        # A process that started meanwhile has a part of the others' pages, and may end again unseen.
        alone = len(now) == len(before.processes) and set(self.tree.listed()) <= self.tree.listed_pids()
        mapped = sum(before.processes[pid].shmem_bytes for pid in now)
        twice = Twice(sum(read[pid].shared_anon_bytes for pid in now), max(0, mapped - shmem))
        self.tree.origins()
        after = sharing.sample(now, self.tree.faults)
        if len(now) < len(before.processes):
            sharing.note(after)  # who ended may have copied
        sharing.read(before, after, twice, alone=alone)

    def _note_denied(self, pids: list[int]) -> None:
        """Note once that a running process does not show its part of shared pages."""
        if self._missing.has(PROPORTIONAL) or all(self.reader.memory(pid) is None for pid in pids):
            return
        self._missing.note(PROPORTIONAL, "of a process they may not be read, so that there is no sum")

    def _stood_still(self, living: list[Process]) -> bool:
        """Whether memory stayed the same while the processes were read one after another.

        If a second process maps a page between the two readings, the page counts whole in the first process and half in
        the second. The error of the sum is at most the change of memory.
        """
        change_bytes = 0
        for process in living:
            now = self.reader.memory(process.pid)
            if now is None or process.last is None:
                return False
            change_bytes += abs(now.rss_bytes - process.last.rss_bytes)
        return change_bytes <= max(_STILL_BYTES, _STILL_SHARE * sum(p.last.rss_bytes for p in living if p.last))
