"""Unreclaimable memory of a process tree with each shared page counted once, without a group.

Sums over processes count a shared page in each process. PSS does not, but it is expensive to read. So PSS is read now
and then, and cheap readings bound the change in between. Bounds on the pages that are counted more than once:

- After a fork, child and parent share everything except one page for each page fault of either.
- After a reading, this number falls at most by what processes unmap, plus one page for each page fault that did not add
  memory to a process (copying on write is such a fault), plus the small pages that became huge ones without a fault.
- Before a reading, it was lower at most by what processes have mapped until the reading: anonymous pages become shared
  by forks only, and a fork is a new process.

So a reading bounds the samples on both sides of it. Without one, the result is too low only if shared pages are
replaced without a fault for each: by a fault for a huge page, by userfaultfd, or at a fork if they are pinned. The next
reading shows that, and corrects the samples since the last one.

Memory that no process has mapped (files written to /dev/shm, memfd) shows only in the machine's count of shared memory.
What other programs add there meanwhile is counted too, and what they free is missing.
"""

import math
import mmap
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from . import machine, procfs
from .procfs import Memory, Origin

PAGE = mmap.PAGESIZE
_PENDING = 64
_MOVED_BYTES = 1 << 20
# A thread's kernel stack, and other kernel memory for it.
_THREAD_BYTES = 32 << 10
# Samples this close to each other count as one.
_ALIKE = 0.01
# Read PSS if the largest sample exceeds the settled one by this share, and by more if much time was spent.
_WORTH = 0.05
# While much is shared, read PSS this often and with this share of the budget: pages may be replaced without faults.
_DOUBT_S, _FOR_DOUBT = 0.25, 0.5
_SHMEM = re.compile(rb"^Shmem:\s+(\d+) kB$", re.MULTILINE)
_HUGE_PAGES = re.compile(rb"^thp_(fault|collapse)_alloc (\d+)$", re.MULTILINE)


class Twice(NamedTuple):
    """Lower bound of memory counted more than once, in bytes."""

    anon_bytes: int
    shmem_bytes: int

    def less(self, anon_bytes: int, shmem_bytes: int) -> "Twice":
        return Twice(max(0, self.anon_bytes - anon_bytes), max(0, self.shmem_bytes - shmem_bytes))


NONE = Twice(0, 0)


class ProcessMemory(NamedTuple):
    """Memory of one process in bytes, and its origin."""

    anon_bytes: int
    """Includes swapped-out memory."""
    shmem_bytes: int
    minor_faults: int
    origin: tuple[int, tuple[int, int] | None] = (0, None)
    """Its parent, and the addresses that exec chose; a fork has its parent's addresses."""
    reaped_faults: int = 0
    """Minor faults of its children that have ended."""
    mark_bytes: int = 0
    """The kernel's mark of its RSS, which exec and clear_refs set back."""


@dataclass(frozen=True)
class Sample:
    """The processes at one time with their sums, and the machine's shared memory, in total and above its start."""

    processes: Mapping[int, ProcessMemory]
    swap_bytes: int = 0
    kernel_bytes: int = 0
    """Page tables, and memory for threads."""
    locked_bytes: int = 0
    machine_shmem_bytes: int = 1 << 62
    rise_bytes: int = 0
    faults: int = 0
    """Of the whole tree so far, with ended processes."""
    huge_faults: int = 0
    """Of the machine so far: those that got a huge page, and small pages that became one."""
    collapses: int = 0
    """Of the machine so far: small pages that became a huge one, as a copy if they were shared."""

    def kept_bytes(self, twice: Twice) -> int:
        """Unreclaimable memory in bytes, with `twice` of it counted more than once."""
        anon = sum(held.anon_bytes for held in self.processes.values()) - twice.anon_bytes
        return anon + self._shmem(twice) + self.kernel_bytes + self.locked_bytes

    def _shmem(self, twice: Twice) -> int:
        mapped = sum(held.shmem_bytes for held in self.processes.values()) - twice.shmem_bytes
        return max(min(mapped, self.machine_shmem_bytes), self.rise_bytes)

    def terms(self, twice: Twice) -> dict[str, int]:
        anon = sum(held.anon_bytes for held in self.processes.values()) - self.swap_bytes - twice.anon_bytes
        return {
            "anon_bytes": max(0, anon),
            "shmem_bytes": self._shmem(twice),
            "kernel_bytes": self.kernel_bytes,
            "swap_bytes": self.swap_bytes,
            "locked_file_bytes": self.locked_bytes,
            "counted_twice_bytes": twice.anon_bytes + twice.shmem_bytes,
        }

    def lost(self, before: "Sample") -> Twice:
        """Upper bound of shared memory that the processes of `before` may have unmapped or copied until now."""
        anon = shmem = 0
        for pid, then in before.processes.items():
            now = self.processes.get(pid, ProcessMemory(0, 0, then.minor_faults))
            faulted = PAGE * max(0, now.minor_faults - then.minor_faults)
            anon += _lost(now.anon_bytes - then.anon_bytes, faulted)
            shmem += _lost(now.shmem_bytes - then.shmem_bytes, faulted)
        return Twice(anon + self.collapsed_bytes(before), shmem)

    def collapsed_bytes(self, before: "Sample") -> int:
        """How much was copied into huge pages since `before`, at most."""
        return _HUGE_BYTES * max(0, self.collapses - before.collapses)

    def mapped(self, before: "Sample") -> Twice:
        """Upper bound of shared memory that the processes may have mapped since `before`."""
        anon = shmem = 0
        for pid, now in self.processes.items():
            then = before.processes.get(pid, ProcessMemory(0, 0, now.minor_faults))
            anon += max(0, now.anon_bytes - then.anon_bytes)
            faulted = PAGE * max(0, now.minor_faults - then.minor_faults)
            shmem += max(0, now.shmem_bytes - then.shmem_bytes, faulted)
        return Twice(anon, shmem)

    def ended_between(self, before: "Sample") -> int:
        """How many bytes were given back unseen since `before`, at most: by an ended process, an exec, or a reset mark.

        A page for each fault that no other process had, and a huge page for each that the machine got.
        """
        unseen, huge_bytes = self.faults - before.faults, _HUGE_BYTES * (self.huge_faults - before.huge_faults)
        replaced = 0
        for pid, held in self.processes.items():
            then, parent = before.processes.get(pid), self.processes.get(held.origin[0])
            faults = held.minor_faults - (then.minor_faults if then else 0)
            # It grew by more than small pages.
            huge_bytes -= max(0, held.anon_bytes - (then.anon_bytes if then else 0) - PAGE * faults)
            other = then or parent  # a new process has its parent's image until an exec
            if other and other.origin[1] != held.origin[1]:
                replaced += held.minor_faults
            if then and (then.origin[1] != held.origin[1] or then.mark_bytes > held.mark_bytes + _MOVED_BYTES):
                faults = min(faults, held.anon_bytes // PAGE)
            unseen -= faults
        unseen = max(0, unseen)
        return PAGE * unseen + max(0, min(huge_bytes, _HUGE_BYTES * (unseen + replaced)))

    def forked(self, before: "Sample | None") -> int:
        """Lower bound of memory that new processes share with their parents."""
        counted = (pid for pid in self.processes if before is None or pid not in before.processes)
        return sum(self._with_parent(self.processes[pid], before) for pid in counted)

    def _with_parent(self, child: ProcessMemory, before: "Sample | None") -> int:
        pid, image = child.origin
        parent = self.processes.get(pid)
        if image is None or parent is None or parent.origin[1] != image:
            return 0
        inherited = child.anon_bytes - PAGE * child.minor_faults
        given_up = self._at_most(parent, pid, before) - parent.anon_bytes
        return int(max(0, min(inherited, parent.anon_bytes, inherited - given_up)))

    def _at_most(self, held: ProcessMemory, pid: int, before: "Sample | None") -> float:
        """Upper bound of a process's anonymous memory at any time since `before`: what it had or inherited, and one
        page per fault."""
        first = before.processes.get(pid) if before else None
        if first is not None:
            return first.anon_bytes + PAGE * (held.minor_faults - first.minor_faults)
        pid, image = held.origin
        parent = self.processes.get(pid)
        if image is not None and parent is not None and parent.origin[1] == image:
            return PAGE * held.minor_faults + self._at_most(parent, pid, before)
        own = PAGE * held.minor_faults
        return own if held.anon_bytes <= own else math.inf  # forked from a process that has ended


def _huge_bytes() -> int:
    """The size of a transparent huge page; 0 where there are none."""
    try:
        size = int(Path("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size").read_text())
    except (OSError, ValueError):
        return 0
    return 0 if machine.huge_pages() == "never" else size


_HUGE_BYTES = _huge_bytes()


def _lost(grown_bytes: int, faulted_bytes: int) -> int:
    """Upper bound of memory that one process has unmapped or copied, in bytes."""
    return max(0, -grown_bytes) + max(0, faulted_bytes - max(0, grown_bytes))


class Sharing:
    """Takes samples and readings of PSS; `kept_bytes` is the maximum, in bytes."""

    def __init__(self) -> None:
        """Create it before the command starts: the machine's shared memory counts from here."""
        self._meminfo = os.open("/proc/meminfo", os.O_RDONLY | os.O_CLOEXEC)
        self._vmstat = os.open("/proc/vmstat", os.O_RDONLY | os.O_CLOEXEC) if _HUGE_BYTES else -1
        self._lowest_bytes = self._machine_bytes = self._read_machine()
        self.settled_bytes = self.readings = self._possible_bytes = 0
        self._terms: dict[str, int] = {}
        self._last: Sample | None = None
        self._twice = NONE
        self._pending: list[tuple[Sample, Twice]] = []

    def close(self) -> None:
        for descriptor in (self._meminfo, self._vmstat):
            if descriptor >= 0:
                os.close(descriptor)
        self._meminfo = self._vmstat = -1

    def _read_machine(self) -> int:
        match = _SHMEM.search(os.pread(self._meminfo, 4096, 0))
        if not match:
            raise ValueError("/proc/meminfo has no line Shmem")
        return int(match[1]) << 10

    def _read_huge_pages(self) -> tuple[int, int]:
        """The machine's huge pages so far: all, and those that were made of small ones."""
        text = os.pread(self._vmstat, 1 << 14, 0) if self._vmstat >= 0 else b""
        counts = {name: int(count) for name, count in _HUGE_PAGES.findall(text)}
        return sum(counts.values()), counts.get(b"collapse", 0)

    def look(self) -> bool:
        """Read the machine's shared memory. Returns whether it changed enough to take a sample."""
        now = self._read_machine()
        if abs(now - self._machine_bytes) < _MOVED_BYTES:
            return False
        self._machine_bytes = now
        # What others free must not hide what the command takes later.
        self._lowest_bytes = min(self._lowest_bytes, now)
        return True

    @property
    def shares(self) -> bool:
        """Whether processes share much anonymous memory: copying it changes no process's memory."""
        if self._last is None:
            return False
        held = sum(one.anon_bytes for one in self._last.processes.values())
        return self._twice.anon_bytes > max(_MOVED_BYTES, _WORTH * held)

    def sample(self, processes: Mapping[int, tuple[Memory, Origin]], faults: int = 0) -> Sample:
        """Make a sample from a reading of each process, and the faults of the whole tree so far."""
        memories = [memory for memory, _ in processes.values()]
        return Sample(
            {
                pid: ProcessMemory(
                    memory.anon_bytes + memory.swap_bytes,
                    memory.shmem_bytes,
                    origin.minor_faults,
                    (origin.parent, origin.image),
                    origin.reaped_faults,
                    memory.hwm_bytes,
                )
                for pid, (memory, origin) in processes.items()
            },
            sum(one.swap_bytes for one in memories),
            sum(one.page_tables_bytes + _THREAD_BYTES * one.threads for one in memories),
            sum(min(one.locked_bytes, one.file_bytes) for one in memories),
            self._machine_bytes,
            max(0, self._machine_bytes - self._lowest_bytes),
            faults,
            *self._read_huge_pages(),
        )

    @property
    def kept_bytes(self) -> int:
        return max(self.settled_bytes, self._highest())

    @property
    def kept_now_bytes(self) -> int | str:
        """Unreclaimable memory at the last sample, as far as readings of PSS show; "" before the first sample."""
        return self._last.kept_bytes(self._twice) if self._last else ""

    def _highest(self) -> int:
        return max((sample.kept_bytes(twice) for sample, twice in self._pending), default=0)

    def note(self, sample: Sample) -> None:
        """Add a sample of the tree."""
        if self._last is not None:
            copied = sample.collapsed_bytes(self._last)
            if not self._last.processes.keys() <= sample.processes.keys():
                # Copies by processes that ended since the last sample show only in the faults of the tree.
                copied += PAGE * max(0, sample.faults - self._last.faults)
            if copied:
                self._consider(self._last, self._twice.less(copied, copied))
        last, among = self._last, self._twice
        self._follow(sample)
        if last is not None:
            around = max(last.kept_bytes(among), sample.kept_bytes(self._twice))
            self._possible_bytes = max(self._possible_bytes, around + sample.ended_between(last))
        if len(sample.processes) < 2:
            self._settle(sample, NONE)
            return
        self._consider(sample, self._twice)

    def _consider(self, sample: Sample, twice: Twice) -> None:
        """Keep a sample that may be the highest, until a reading of PSS narrows its bound."""
        size = sample.kept_bytes(twice)
        if size <= self.settled_bytes:
            return
        if self._pending:
            before, among = self._pending[-1]
            other = before.kept_bytes(among)
            alike = before.processes.keys() == sample.processes.keys() and abs(size - other) <= _ALIKE * other
            if alike and size <= other:
                return
            if alike:
                self._pending.pop()
        self._pending.append((sample, twice))
        if len(self._pending) > _PENDING:
            self._thin()

    def _follow(self, sample: Sample) -> None:
        """Update the bound of memory counted more than once."""
        if self._last is not None:
            self._twice = self._twice.less(*sample.lost(self._last))
        self._twice = Twice(self._twice.anon_bytes + sample.forked(self._last), self._twice.shmem_bytes)
        self._last = sample

    def _thin(self) -> None:
        """Keep the higher one of each pair of neighbours."""
        pairs = zip(self._pending[::2], self._pending[1::2], strict=False)
        rest = self._pending[len(self._pending) // 2 * 2 :]
        self._pending = [max(pair, key=lambda entry: entry[0].kept_bytes(entry[1])) for pair in pairs] + rest

    def worth_reading(self, spent: float, since_s: float) -> bool:
        """Whether a reading of PSS would help, so long after the last one and with this share of its budget spent."""
        rises = self._highest() > self.settled_bytes * (1 + _WORTH + max(0.0, spent))
        return rises or (self.shares and since_s > _DOUBT_S and spent < _FOR_DOUBT)

    def read(self, before: Sample, after: Sample, twice: Twice, *, alone: bool = True) -> None:
        """Add a reading of PSS: samples right before and after it, and how much was counted more than once in it.

        The processes are read one after another, so memory unmapped or copied meanwhile is subtracted. If others had a
        part of the pages meanwhile (not `alone`, or a child started and ended), no more than this was counted twice,
        but maybe less. What was believed and exceeds the reading is wrong: pages were replaced without faults.
        """
        alone &= all(now.reaped_faults == before.processes[pid].reaped_faults for pid, now in after.processes.items())
        self.readings += alone
        lost, mapped = after.lost(before), after.mapped(before)
        sure = twice.less(*lost) if alone else NONE
        self._follow(after)
        excess = self._twice.less(twice.anon_bytes, twice.shmem_bytes + mapped.shmem_bytes)
        refuted = sum(excess) > _MOVED_BYTES
        settled = []
        for sample, since in self._pending:
            until = sure.less(*before.mapped(sample))
            believed = since if not refuted else NONE if alone else since.less(*excess)
            settled.append((sample, Twice(*map(max, believed, until))))
        self._twice = Twice(*map(max, self._twice.less(*excess), sure))
        self._pending = [*settled, (after, self._twice)]
        # If memory changed meanwhile, a later reading may show more.
        change_bytes = sum(lost) + sum(mapped)
        held_bytes = sum(held.anon_bytes + held.shmem_bytes for held in after.processes.values())
        if alone and change_bytes <= max(_MOVED_BYTES, _ALIKE * held_bytes):
            self.end()
        if len(self._pending) > _PENDING:
            self._thin()

    def _settle(self, sample: Sample, twice: Twice) -> None:
        size = sample.kept_bytes(twice)
        if size > self.settled_bytes:
            self.settled_bytes, self._terms = size, sample.terms(twice)

    def end(self) -> None:
        """Settle all pending samples: no later reading can narrow them."""
        for sample, twice in self._pending:
            self._settle(sample, twice)
        self._pending = []

    def record(self, faults: int = 0) -> dict[str, Any]:
        """Fields of `kept` in run.json, with the faults of the whole tree until its end.

        In `kept_possible_bytes`, what ended unseen between two samples counts with a page for each of its faults.
        """
        last = self._last
        if last and (len(last.processes) > 1 or any(held.reaped_faults for held in last.processes.values())):
            end = replace(last, faults=max(faults, last.faults), huge_faults=self._read_huge_pages()[0])
            self._possible_bytes = max(self._possible_bytes, last.kept_bytes(self._twice) + end.ended_between(last))
        return {
            "kept_bytes": self.kept_bytes,
            "kept_possible_bytes": max(self.kept_bytes, self._possible_bytes),
            "kept_sampled_bytes": self.kept_bytes,
            "kept_upper_bound_bytes": None,
            "at_kept": self._terms,
            "readings": self.readings,
        }


def read_now(pids: Iterable[int]) -> dict[int, tuple[Memory, Origin]]:
    """A reading of each process that lives."""
    readings: dict[int, tuple[Memory, Origin]] = {}
    for pid in pids:
        memory, stat = procfs.memory(pid), procfs.read(pid, "stat")
        if memory is not None and stat:
            readings[pid] = memory, procfs.parse_origin(stat)
    return readings
