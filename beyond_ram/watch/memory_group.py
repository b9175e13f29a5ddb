"""The charge of a memory group, and how much of it the kernel cannot reclaim; cgroup v1 and v2.

A limit kills when unreclaimable memory exceeds it: anonymous memory, shared memory and tmpfs (mapped or not), locked
file pages, kernel memory (page tables, stacks, slabs; on v2 sockets). It is the usage minus the file pages on the
reclaimable lists, plus swapped-out memory, since another machine may have no swap.
"""

import contextlib
import errno
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from . import procfs

# Of the flags in /proc/PID/stat.
_EXITING = 0x4
_UNLIMITED = 1 << 60  # v1 writes "no limit" as the largest multiple of a page
# Inode of the machine's own PID namespace, a constant of the kernel's.
_FIRST_PID_NAMESPACE = 0xEFFFFFFC
# What processes that are not listed may hold: kernel memory and shells of a group with the watcher alone take 1 MiB.
_UNLISTED_BYTES = 4 << 20
_V1 = {"usage": "memory.usage_in_bytes", "peak": "memory.max_usage_in_bytes", "kills": "memory.oom_control"}
_V2 = {
    "usage": "memory.current",
    "peak": "memory.peak",
    "kills": "memory.events",
    "swap": "memory.swap.current",
    "local": "memory.events.local",
}


class Charges(NamedTuple):
    """One reading, in bytes. `kernel_bytes` excludes reclaimable slabs."""

    usage_bytes: int
    evictable_bytes: int
    anon_bytes: int
    shmem_bytes: int
    kernel_bytes: int
    swap_bytes: int
    swapcached_bytes: int
    """The part of swap that is also in memory, and charged as usage too."""
    inactive_file_bytes: int = 0
    """File pages that the kernel reclaims first."""
    unlisted_bytes: int = 0
    """Neither anonymous nor page cache nor a slab that can be given back."""

    @property
    def working_set_bytes(self) -> int:
        """Working set as the kubelet and cAdvisor compute it."""
        return max(0, self.usage_bytes - self.inactive_file_bytes)

    @property
    def away_bytes(self) -> int:
        """Pages that are in swap only."""
        return max(0, self.swap_bytes - self.swapcached_bytes)

    @property
    def kept_bytes(self) -> int:
        return max(0, self.usage_bytes - self.evictable_bytes) + self.away_bytes

    def less(self, other: "Charges") -> "Charges":
        return Charges(*(max(0, mine - theirs) for mine, theirs in zip(self, other, strict=True)))


def parse(version: int, stat: bytes, usage_bytes: int, swap_bytes: int | None = None) -> Charges:
    """Parse memory.stat; `usage_bytes` and (v2) `swap_bytes` come from files of their own."""
    fields = {name: int(value) for name, _, value in (line.partition(b" ") for line in stat.splitlines())}
    prefix = b"total_" if version == 1 else b""

    def field(name: bytes) -> int:
        return fields.get(prefix + name, 0)

    anon, file = (field(b"rss"), field(b"cache")) if version == 1 else (field(b"anon"), field(b"file"))
    # Anonymous pages given back with MADV_FREE stay on the lists of file pages, also if they were written to again.
    listed = min(field(b"inactive_file") + field(b"active_file"), max(0, file - field(b"shmem")))
    evictable = listed + field(b"slab_reclaimable")
    swapped = field(b"swap") if swap_bytes is None else swap_bytes
    unlisted = usage_bytes - anon - file - field(b"swapcached")
    kernel, unlisted = (max(0, size - field(b"slab_reclaimable")) for size in (field(b"kernel") or unlisted, unlisted))
    beside = swapped, field(b"swapcached"), field(b"inactive_file"), unlisted
    return Charges(usage_bytes, evictable, anon, field(b"shmem"), kernel, *beside)


class GroupMeter:
    """Follows one group from sample to sample. Memory charged `before` the start is not counted, unless the group is
    ours.

    The kernel's peak shows the highest usage between two samples. That peak minus the page cache at either sample is
    the unreclaimable memory at the peak, spikes included.
    """

    def __init__(self, path: Path, version: int, *, ours: bool, whole: bool = False) -> None:
        """`ours`: we made the group, so its peak may be reset. `whole`: count all its memory, even from before."""
        self.path, self.version = path, version
        self.can_reset, self._whole = ours, whole
        names = _V1 if version == 1 else _V2
        self._stat = os.open(path / "memory.stat", os.O_RDONLY | os.O_CLOEXEC)
        self._open = {name: _opened(path / file, write=ours and name == "peak") for name, file in names.items()}
        if self._open["usage"] is None:
            self.close()
            raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(path / names["usage"]))
        self._last_read: dict[int, bytes] = {}
        """The last content of each file, for a group that has been removed."""
        self.kept_bytes = self.sampled_bytes = self.bound_bytes = self.anon_bytes = 0
        self.kept_now_bytes = 0
        """Unreclaimable memory at the last reading, in bytes."""
        self.nests = False
        """Whether it has had groups inside. The kernel adds up their kinds of memory late: seconds in Linux 6.18."""
        self.working_set_bytes = 0
        """The largest sample, including earlier use of the group."""
        self.high_bytes: int | None = None
        """The kernel's peak of usage: since the previous reading if it can be reset, else since the group's start."""
        self.at: Charges | None = None
        self.now = None if ours or whole else self.charges()
        """The last reading."""
        self._before = self.now
        self._unlisted_before_bytes = 0 if ours else (self.now or self.charges()).unlisted_bytes
        self.held_before_bytes = self.now.kept_bytes if self.now else 0
        """Kept memory of the group at the start, which is not counted."""
        self._usage, self._high = self._number("usage"), self._number("peak")

    def close(self) -> None:
        for descriptor in (self._stat, *self._open.values()):
            if descriptor is not None:
                with contextlib.suppress(OSError):
                    os.close(descriptor)
        self._open = {}

    def _number(self, name: str) -> int | None:
        descriptor = self._open.get(name)
        return None if descriptor is None else int(self._read(descriptor, 64))

    def _read(self, descriptor: int, size: int) -> bytes:
        try:
            self._last_read[descriptor] = os.pread(descriptor, size, 0)
        except OSError as error:
            if error.errno != errno.ENODEV or descriptor not in self._last_read:
                raise
        return self._last_read[descriptor]

    def peak_bytes(self) -> int | None:
        """The kernel's peak of usage with page cache; since the last reading if it can be reset. None if unknown."""
        return self._number("peak")

    def charges(self) -> Charges:
        usage = self._number("usage") or 0  # there is always one
        return parse(self.version, self._read(self._stat, 16384), usage, self._number("swap"))

    def kills(self) -> int | None:
        """Number of its processes that the kernel killed for lack of memory; None if unknown."""
        return self.events().get("oom_kill")

    def events(self, name: str = "kills") -> dict[str, int]:
        """The group's memory.events (v2) or memory.oom_control (v1); empty without them."""
        descriptor = self._open.get(name)
        if descriptor is None:
            return {}
        lines = (line.split() for line in self._read(descriptor, 4096).decode().splitlines())
        return {name: int(count) for name, count in lines}

    def at_limit(self) -> bool:
        """Whether the group's own limit made the kernel kill; True if the kernel does not report it (before 5.2, or
        v1)."""
        return self.events("local").get("oom", 1) > 0

    def look(self) -> bool:
        """Take a reading. Returns whether anything changed since the last one."""
        usage, high = self._number("usage"), self._number("peak")
        if self.now is not None and (usage, high) == (self._usage, self._high):
            return False
        now, fresh = self.charges(), self.can_reset or high != self._high
        with contextlib.suppress(OSError):
            self.nests = self.nests or os.stat(self.path).st_nlink > 2  # noqa: PTH116
        self._note(now, high, fresh=fresh)
        # A peak that has not risen is from before this measurement.
        self.high_bytes = now.usage_bytes if self._whole and not fresh else high
        self._usage, self._high, self.now = usage, high, now
        if self.can_reset and high is not None:
            self._reset()
            self._high = self._number("peak")
        return True

    def _note(self, now: Charges, high: int | None, *, fresh: bool) -> None:
        last = self.now or now
        if self._before and now.kept_bytes < self._before.kept_bytes:
            self._before = now  # what others free must not hide what the command takes later
        self.working_set_bytes = max(self.working_set_bytes, now.working_set_bytes)
        before = self._before.kept_bytes if self._before else 0
        sampled = self.kept_now_bytes = max(0, now.kept_bytes - before)
        if sampled >= self.sampled_bytes:
            self.sampled_bytes = sampled
            self.at = now.less(self._before) if self._before else now
        self.kept_bytes = max(self.kept_bytes, sampled)
        self.anon_bytes = max(self.anon_bytes, now.anon_bytes - (self._before.anon_bytes if self._before else 0))
        if high is None:
            return
        ends, swapped = (last.evictable_bytes, now.evictable_bytes), max(last.away_bytes, now.away_bytes)
        if fresh:
            self.kept_bytes = max(self.kept_bytes, high - max(ends) + swapped - before)
        # If the peak cannot be reset, it may be older than both readings of the page cache.
        evictable = min(ends) if self.can_reset else 0
        self.bound_bytes = max(self.bound_bytes, high - evictable + swapped - before)

    @property
    def unlisted_grown_bytes(self) -> int:
        """How much more it is charged for than at the start, that is on none of the kernel's lists."""
        return self.now.unlisted_bytes - self._unlisted_before_bytes if self.now else 0

    def _reset(self) -> None:
        """Start a new peak. Needs v2 and Linux 6.12; without them `can_reset` becomes false."""
        try:
            os.pwrite(self._open["peak"] or -1, b"0", 0)
        except OSError:
            self.can_reset = False

    def record(self) -> dict[str, Any]:
        """The maxima in bytes; `at_kept` is the sample with the largest kept memory, not of each kind."""
        at = {name: value for name, value in (self.at._asdict() if self.at else {}).items() if name != "usage_bytes"}
        return {
            "kept_bytes": self.kept_bytes,
            "kept_sampled_bytes": self.sampled_bytes,
            "kept_upper_bound_bytes": max(self.kept_bytes, self.bound_bytes) if self.bound_bytes else None,
            "working_set_bytes": self.working_set_bytes,
            "sampled_anon_bytes": self.anon_bytes,
            "at_kept": {} if self.nests else at,
        }


class Around:
    """The group of this process: a scheduler's, a container's, a login session's.

    Its limit and its kills always matter. Its charge is the command's memory only if the group is known to have no
    processes but this one and its ancestors (`alone`).
    """

    def __init__(self, path: Path, version: int, *, whole: bool | None = None) -> None:
        """`whole`: whether the processes that already run are all of the group; then its whole memory counts."""
        self.meter = GroupMeter(path, version, ours=False, whole=bool(whole))
        self.limit_bytes = limit_bytes(path, version)
        self.whole = bool(whole)
        self.alone = _alone(path) and self._lists_all() if whole is None else whole
        self._kills = self.meter.kills()
        self._events = self.meter.events()

    @classmethod
    def find(cls) -> "Around | None":
        """The memory group of this process; None if it is the root of all groups or unreadable."""
        own = own_group()
        if own is None:
            return None
        with contextlib.suppress(OSError):
            return cls(*own)
        return None

    def _lists_all(self) -> bool:
        """Whether no process of the group can be missing from its list. v2 lists those outside of our PID namespace as
        0; v1 leaves them out, and then the group must hold little but this process, as in a new container."""
        if self.meter.version == 2 or os.stat("/proc/self/ns/pid").st_ino == _FIRST_PID_NAMESPACE:  # noqa: PTH116
            return True
        held, own = self.meter.now, procfs.parse_memory(procfs.read_file("/proc/self/status"))  # /proc may be another's
        if held is None or own is None:
            return False
        return held.kept_bytes - own.anon_bytes - own.shmem_bytes - own.swap_bytes <= _UNLISTED_BYTES

    def read_limit(self) -> None:
        """Read the limit again."""
        with contextlib.suppress(OSError):
            self.limit_bytes = limit_bytes(self.meter.path, self.meter.version)

    def kills(self) -> int | None:
        """Kills for lack of memory since this object was made; None if unknown."""
        now = self.meter.kills()
        return None if now is None or self._kills is None else max(0, now - self._kills)

    def record(self) -> dict[str, Any]:
        """The group's values in bytes; `events` are those of memory.events since the start (v2)."""
        meter = self.meter
        content: dict[str, Any] = {"version": meter.version, "limit_bytes": self.limit_bytes, "kills": self.kills()}
        content |= {"peak_bytes": meter.peak_bytes(), "alone": self.alone, "path": str(meter.path)}
        if meter.version == 2:
            now = meter.events()
            content |= {"events": {name: max(0, count - self._events.get(name, 0)) for name, count in now.items()}}
            content |= {"swap_limit_bytes": limit_bytes(meter.path, 2, "memory.swap.max")}
        return content | {"held_before_bytes": meter.held_before_bytes, "charges": meter.charges()._asdict()}


class Own(NamedTuple):
    """The memory group that a process is in."""

    folder: Path
    version: int
    is_root: bool
    """Whether it is the root of all groups, which has neither a usage nor a limit."""


def own_folder(proc: Path = Path("/proc/self"), groups: str | None = None) -> Own | None:
    """The memory group of this process, or of the one with the /proc/PID/cgroup text `groups`; None if not visible."""
    try:
        text = (proc / "cgroup").read_text() if groups is None else groups
        lines = [line.split(":", 2) for line in text.splitlines()]
        mounts = [line.split() for line in (proc / "mountinfo").read_text().splitlines()]
    except OSError:
        return None
    for version in (1, 2):
        ours = [p for _, names, p in lines if (names == "" if version == 2 else "memory" in names.split(","))]
        path, kind = ours[0] if ours else "/", "cgroup" if version == 1 else "cgroup2"
        for words in mounts if ours else ():
            kinds = words[words.index("-") + 1 :]
            if kinds[0] != kind or (version == 1 and "memory" not in kinds[-1].split(",")):
                continue
            if path.startswith("/.."):
                continue  # a group outside of this namespace
            if words[3].startswith("/.."):  # mounted from outside: the names on the way to our group are unknown
                at = _holding(Path(words[4]), words[3].count("..")) if path == "/" and groups is None else None
                if at is None:
                    continue
                return Own(at, version, is_root=False)
            below = path.removeprefix(words[3]) if words[3] != "/" else path
            folder = Path(words[4] + "/" + below.strip("/")) if below.strip("/") else Path(words[4])
            if version == 1 and not (folder / "memory.stat").exists():
                break
            if not folder.is_dir():
                break
            # Only the root of all groups has release_agent (v1); it alone has neither a type nor a usage (v2).
            if version == 1:
                return Own(folder, 1, (folder / "release_agent").exists())
            return Own(folder, 2, not (folder / "cgroup.type").exists() and not (folder / "memory.current").exists())
    return None


def own_group(proc: Path = Path("/proc/self"), groups: str | None = None) -> tuple[Path, int] | None:
    """Folder and version of the memory group of this process, or of the one with the /proc/PID/cgroup text `groups`.
    None for the root of all groups, and if the group is not charged with memory."""
    own = own_folder(proc, groups)
    if own is None or own.is_root:
        return None
    if own.version == 1:
        return (own.folder, 1) if (own.folder / "memory.usage_in_bytes").exists() else None
    # A group without the memory controller is charged as part of its parent.
    for folder in (own.folder, *own.folder.parents):
        if (folder / "memory.current").exists():
            return folder, 2
        if not (folder / "cgroup.type").exists():
            return None
    return None


def _holding(mount: Path, depth: int) -> Path | None:
    """The group of this process, `depth` levels below a mount; None if there is none."""
    pid = str(os.getpid())
    for folder in mount.glob("/".join("*" * depth)):
        with contextlib.suppress(OSError):
            if pid in (folder / "cgroup.procs").read_text().split():
                return folder
    return None


class Elsewhere:
    """Finds processes whose memory is charged to another group than `folder` and those below it."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._members = folder, f"{folder}/cgroup.procs"
        self._outside: dict[bytes, bool] = {}
        """By the text of /proc/PID/cgroup."""
        self.processes: dict[int, str] = {}
        """Those found so far, with their group."""

    def look(self, pids: Iterable[int]) -> bool:
        """Look for them among living processes. Returns whether all of them are charged to the group, as far as is
        known."""
        inside = set(map(int, procfs.read_file(self._members).split()))
        known = True
        for pid in pids:
            if pid in inside:
                continue
            text, stat = procfs.read(pid, "cgroup"), procfs.read(pid, "stat")
            if text and stat and int(procfs.stat_fields(stat)[6]) & _EXITING:  # v1 shows it in the root by then
                continue
            if not text or not stat:
                known = known and not procfs.lives(pid)
            elif self._is_outside(text):
                self.processes.setdefault(pid, _path(text))
        return known and not self.processes

    def _is_outside(self, text: bytes) -> bool:
        if text not in self._outside:
            own = own_folder(groups=text.decode(errors="replace"))
            self._outside[text] = own is None or self._folder not in (own.folder, *own.folder.parents)
        return self._outside[text]


def _path(groups: bytes) -> str:
    """The memory group in the text of /proc/PID/cgroup: that of v1 if it has one."""
    lines = [line.split(":", 2) for line in groups.decode(errors="replace").splitlines()]
    paths = {names: path for _, names, path in lines if names == "" or "memory" in names.split(",")}
    return max(paths.items(), default=("", "?"))[1]


def is_limited(folder: Path, name: str) -> bool:
    """Whether a file of a group, such as memory.max or cpu.max, sets a limit."""
    try:
        return (folder / name).read_text().split()[0] != "max"
    except (OSError, IndexError):
        return False


def limit_bytes(path: Path, version: int, name: str = "memory.max") -> int | None:
    """The effective limit of a group in bytes: the lowest of its own and its ancestors'; None without one.

    `name` is the file's name on v2.
    """
    if version == 1:
        fields = dict(line.split() for line in (path / "memory.stat").read_text().splitlines())
        limit = int(fields.get("hierarchical_memory_limit", _UNLIMITED))
        return limit if limit < _UNLIMITED else None
    limits = []
    for folder in (path, *path.parents):
        try:
            text = (folder / name).read_text().strip()
        except OSError:
            break
        if text != "max":
            limits.append(int(text))
    return min(limits, default=None)


def _alone(path: Path) -> bool:
    """Whether a group has no processes except this one and its ancestors."""
    try:
        members = {int(word) for file in path.rglob("cgroup.procs") for word in file.read_text().split()}
    except OSError:
        return False
    return bool(members) and members <= procfs.ancestors(os.getpid())


def _opened(path: Path, *, write: bool) -> int | None:
    for mode in (os.O_RDWR, os.O_RDONLY) if write else (os.O_RDONLY,):
        with contextlib.suppress(OSError):
            return os.open(path, mode | os.O_CLOEXEC)
    return None
