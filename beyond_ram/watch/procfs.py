"""Readings of one process from /proc. Standard library only.

Every function returns None for a process that has ended or is not readable for us, and raises OSError for errors of the
machine, such as too many open files.
"""

import ctypes
import errno
import os
import platform
import re
import select
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

GONE = (FileNotFoundError, ProcessLookupError, PermissionError)
"""Errors for processes that have ended or belong to another user."""
NO_ROOM = (errno.EMFILE, errno.ENFILE)
"""Error numbers if this process or the machine cannot open more files."""
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_KCMP, _KCMP_VM = {"x86_64": 312, "aarch64": 272, "riscv64": 272}.get(platform.machine()), 1
_libc = ctypes.CDLL(None)
# Lines of /proc/PID/status in the kernel's order. A zombie and a kernel thread have none of them.
_LINE = rb"\s+(\d+) kB\n"
_OTHERS = rb"(?:Vm(?!PTE:|Swap:)\w+:\s+\d+ kB\n)*"
_STATUS = re.compile(
    rb"(?:VmLck:" + _LINE + rb"VmPin:\s+\d+ kB\n)?"
    + rb"VmHWM:" + _LINE + rb"VmRSS:\s+\d+ kB\nRssAnon:" + _LINE + rb"RssFile:" + _LINE + rb"RssShmem:" + _LINE
    + _OTHERS + rb"(?:VmPTE:" + _LINE + rb")?" + _OTHERS + rb"VmSwap:" + _LINE
    + rb"(?:(?!Threads:).*\n)*(?:Threads:\s+(\d+)\n)?"
)  # fmt: skip
_FIRST, PAST = b"\nVmLck:", b"\nSigQ:"  # a name has no line break
"""What begins the lines about memory, and the first line after them."""
_READINGS = 3
# A reading of PSS may cover this much less than the process holds: the kernel counts both at different times.
_UNCOVERED_BYTES, _UNCOVERED_SHARE = 1_000_000, 0.01


class Memory(NamedTuple):
    """Resident memory by kind, swap, and the high-water mark of resident memory since its last reset, in bytes."""

    hwm_bytes: int
    anon_bytes: int
    file_bytes: int
    shmem_bytes: int
    swap_bytes: int
    page_tables_bytes: int = 0
    locked_bytes: int = 0
    threads: int = 1
    other_bytes: int = 0
    """Resident memory of a kind that the reader does not know."""

    @property
    def rss_bytes(self) -> int:
        return self.anon_bytes + self.file_bytes + self.shmem_bytes + self.other_bytes


class Usage(NamedTuple):
    """Resources of a process and its reaped children; CPU in seconds, to one clock tick."""

    cpu_s: float = 0.0
    minor_faults: int = 0
    major_faults: int = 0
    read_bytes: int | None = None
    written_bytes: int | None = None
    """Bytes read from and written to storage; None if unreadable."""


def combined(combine: Callable[[list[Any]], Any], usages: Iterable[Usage]) -> Usage:
    """Combine each number with `combine`, such as `sum` or `max`, over the usages that know it."""
    columns = zip(Usage(), *usages, strict=True)
    numbers_of = [[number for number in column if number is not None] for column in columns]
    return Usage._make(combine(numbers) if numbers else None for numbers in numbers_of)


def why_not() -> str | None:
    """Why processes cannot be read here; None if they can."""
    try:
        own = os.readlink("/proc/self")  # noqa: PTH115
    except OSError as error:
        return f"/proc cannot be read: {error.strerror}"
    return None if own == str(os.getpid()) else "/proc is that of another PID namespace"


def read(pid: int, name: str) -> bytes | None:
    """A whole file below /proc/PID."""
    try:
        return read_file(f"/proc/{pid}/{name}")
    except GONE:
        return None


def read_file(path: str) -> bytes:
    """A whole file of the kernel's. Uses system calls directly: a file object needs twice as many, in every sample."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        chunks = [os.read(descriptor, 65536)]
        while chunks[-1]:  # the kernel returns such a file a page at a time, so a short read is not its end
            chunks.append(os.read(descriptor, 65536))
        return b"".join(chunks)
    finally:
        os.close(descriptor)


def memory_lines(status: bytes) -> bytes:
    """The lines of /proc/PID/status about memory; equal bytes mean an equal reading. Empty for a zombie."""
    first = status.find(_FIRST)
    return status[first + 1 : status.find(PAST, first) + 1] if first >= 0 else b""


def lines_of_another_thread(pid: int, status: bytes) -> bytes:
    """The same lines for a process whose main thread has ended, which has none; empty if all its threads have."""
    if b"\nThreads:\t1\n" in status:
        return b""
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
    except GONE:
        return b""
    statuses = (read(pid, f"task/{thread}/status") for thread in threads if thread != str(pid))
    return next((lines for status in statuses if status and (lines := memory_lines(status))), b"")


def parse_memory(status: bytes) -> Memory | None:
    """Memory by kind from /proc/PID/status: 4 to 10 µs to read, however much is mapped."""
    match = _STATUS.search(status)
    if match is None:
        return None
    *sizes, threads = match.groups(b"0")
    locked, hwm, anon, file, shmem, tables, swap = (int(size) << 10 for size in sizes)
    return Memory(hwm, anon, file, shmem, swap, tables, locked, max(1, int(threads)))


def memory(pid: int) -> Memory | None:
    text = read(pid, "status")
    return (parse_memory(text) or parse_memory(lines_of_another_thread(pid, text))) if text else None


class Proportional(NamedTuple):
    """Proportional memory of a process: shared pages are divided by the number of their owners."""

    pss_bytes: int
    uss_bytes: int
    pss_anon_bytes: int | None
    """The anonymous part of PSS; None before Linux 5.9, which does not report it."""
    shared_anon_bytes: int = 0
    """Anonymous memory and swap that is resident here beyond the process's proportional part."""
    pss_shmem_bytes: int | None = None
    complete: bool = True
    """Whether the reading covers the resident memory of the process."""


def proportional(pid: int) -> Proportional | None:
    """PSS and USS in bytes, from smaps_rollup. Walks the page tables: 14 to 50 ms per GB.

    Linux 6.1 skips a mapping now and then while the process maps memory (6.1.192: 35 of 1,912 readings; 6.18: none of
    59,874). So a reading that covers less than the process held before and after it is repeated, at most twice. The
    same happens to a program that frees memory and takes it again meanwhile (6.18: 24 of 4,302 readings).
    """
    before = memory(pid)
    for _ in range(_READINGS):
        text, after = read(pid, "smaps_rollup"), memory(pid)
        if not text:
            return None
        reading, rss_bytes = parse_proportional(text)
        held_bytes = min((held.rss_bytes for held in (before, after) if held), default=0)
        if held_bytes - rss_bytes <= max(_UNCOVERED_BYTES, _UNCOVERED_SHARE * held_bytes):
            return reading
        before = after
    return reading._replace(complete=False)


def parse_proportional(text: bytes) -> tuple[Proportional, int]:
    """A reading of smaps_rollup, and the resident memory that it covers, in bytes."""
    fields = {}
    for line in text.splitlines()[1:]:
        name, _, value = line.partition(b":")
        fields[name] = int(value.split()[0]) << 10
    private = fields.get(b"Private_Clean", 0) + fields.get(b"Private_Dirty", 0)
    anon = fields.get(b"Pss_Anon")
    shared = fields.get(b"Anonymous", 0) - anon if anon is not None else 0
    shared += fields.get(b"Swap", 0) - fields.get(b"SwapPss", 0)
    pss, rss = fields.get(b"Pss", 0), fields.get(b"Rss", 0)
    return Proportional(pss, private, anon, shared, fields.get(b"Pss_Shmem")), rss


def stat_fields(stat: bytes) -> list[bytes]:
    """The fields of /proc/PID/stat after the name, which may contain any character: state, parent, …"""
    return stat[stat.rindex(b")") + 2 :].split()


def parse_usage(stat: bytes, io: bytes | None, *, own: bool = True) -> Usage:
    """Usage from the files /proc/PID/stat and io; without `own`, CPU time and faults of reaped children only."""
    fields = stat_fields(stat)
    first = 0 if own else 1
    minor, major = (sum(map(int, fields[at + first : at + 2])) for at in (7, 9))
    ticks = sum(map(int, fields[11 if own else 13 : 15]))
    counts = dict(line.split(b": ") for line in io.splitlines()) if io else {}
    stored = [int(counts[name]) if counts else None for name in (b"read_bytes", b"write_bytes")]
    return Usage(ticks / TICKS_PER_S, minor, major, *stored)


def started_s(pid: int) -> float | None:
    """When a process started, in seconds on CLOCK_BOOTTIME, to one clock tick."""
    stat = read(pid, "stat")
    return int(stat_fields(stat)[19]) / TICKS_PER_S if stat else None


class Origin(NamedTuple):
    """The parent of a process, and its own minor faults."""

    parent: int
    minor_faults: int
    image: tuple[int, int] | None
    """Addresses of its code and stack: random per exec, equal after a fork; None if unreadable."""
    reaped_faults: int
    """Minor faults of its reaped children."""


def parse_origin(stat: bytes) -> Origin:
    fields = stat_fields(stat)
    code, stack = int(fields[23]), int(fields[25])
    return Origin(int(fields[1]), int(fields[7]), (code, stack) if stack else None, int(fields[8]))


def name(pid: int) -> str:
    return (read(pid, "comm") or b"?").decode(errors="replace").strip()


def last_pid(loadavg: bytes) -> bytes:
    """The last process id assigned in our PID namespace; while it stays the same, no process has started."""
    return loadavg[loadavg.rfind(b" ") + 1 :]


def lives(pid: int) -> bool:
    """Whether a process has not ended, even if /proc hides it."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return False
    except (AttributeError, OSError) as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            raise
        try:  # without pidfd; true for a zombie too
            os.kill(pid, 0)
        except OSError as refused:
            return isinstance(refused, PermissionError)
        return True
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        return not poll.poll(0)
    finally:
        os.close(handle)


def ancestors(pid: int) -> set[int]:
    """A process and all above it, as far as they are readable."""
    ancestry: set[int] = set()
    while pid > 0 and pid not in ancestry:
        ancestry.add(pid)
        stat = read(pid, "stat")
        pid = int(stat_fields(stat)[1]) if stat else 0
    return ancestry


def same_memory(pid: int, other: int) -> bool:
    """Whether two processes have one address space, as between vfork and exec; False if the kernel does not tell.

    Two whose main threads have ended have none there, which the kernel calls the same.
    """
    same = _KCMP is not None and _libc.syscall(_KCMP, pid, other, _KCMP_VM, 0, 0) == 0
    return same and bool(memory_lines(read(pid, "status") or b""))


def children(pid: int, unlisted: set[int] | None = None) -> list[int]:
    """Child processes, whichever thread started them. A living process that hides them is added to `unlisted`."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
    except GONE:
        if unlisted is not None and lives(pid):
            unlisted.add(pid)
        return []
    pids: list[int] = []
    for thread in threads:
        text = read(pid, f"task/{thread}/children")
        if text:
            pids += map(int, text.split())
    return pids


def descendants(pid: int, unlisted: set[int] | None = None) -> list[int]:
    """All processes below one, parents before children. Those that hide their children are added to `unlisted`."""
    try:
        if os.path.exists(f"/proc/self/task/{os.getpid()}/children"):  # noqa: PTH110
            return below(pid, lambda parent: children(parent, unlisted))
    except Exception:  # the processes to kill must be found in any case
        pass
    if unlisted is not None and _hides():
        unlisted.add(pid)
    return _descendants_by_parent(pid)


def _hides() -> bool:
    """Whether /proc hides processes of others, which then have no parent here."""
    mounts = read(os.getpid(), "mountinfo") or b""
    return os.geteuid() != 0 and any(b" /proc " in line and b"hidepid=" in line for line in mounts.splitlines())


def below(pid: int, children_of: Callable[[int], Iterable[int]]) -> list[int]:
    """All processes below one, parents before children; `children_of` returns the children of a process."""
    pids: dict[int, None] = {}
    pending = [*children_of(pid)]
    while pending:
        if (child := pending.pop()) not in pids:  # as one that is mounted over another
            pids[child] = None
            pending += children_of(child)
    return list(pids)


def _descendants_by_parent(pid: int) -> list[int]:
    """`descendants` for a kernel without the children files: one pass over all processes."""
    listed: dict[int, list[int]] = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
        try:  # not by `read`, which may be the cause of the failure
            with open(f"/proc/{entry}/stat", "rb") as file:  # noqa: PTH123
                stat = file.read()
        except GONE:
            continue
        listed.setdefault(int(stat_fields(stat)[1]), []).append(int(entry))
    return below(pid, lambda parent: listed.get(parent, []))
