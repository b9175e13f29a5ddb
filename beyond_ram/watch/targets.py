"""Targets to follow: processes with their descendants, a memory group, a Slurm job.

A process is identified by its id and start time, because the kernel reuses ids.
"""

import os
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import memory_group, procfs
from .peaks import reset_high_water
from .reader import HWM, Reader, choose
from .tree import Process, Tree

_GROUPS = Path("/sys/fs/cgroup")
# Where Slurm puts the groups of a job: v1 below each controller, v2 in the scope of its step daemons.
_OF_JOB = ("memory/slurm*/**/job_{id}", "system.slice/*slurmstepd.scope/job_{id}", "slurm*/**/job_{id}",
           "freezer/slurm*/**/job_{id}")  # fmt: skip


_AGAIN_S = 0.1
# So long after a job's first group Slurm may make that of its memory; where there is none, watching begins so late.
_GROUP_S = 0.5


class _NoTargetError(ValueError):
    """The target does not exist or is empty, at least so far."""


@dataclass(frozen=True)
class Target:
    """A target with its name, and a function that lists its process ids."""

    named: dict[str, object]
    name: str
    listed: Callable[[Iterable[int]], list[int]]
    """Its argument: the ids of known processes of the target that still run."""
    group: tuple[Path, int] | None = None
    """The memory group that contains exactly the target, and its cgroup version."""
    around: tuple[Path, int] | None = None
    """The group of the target's first process."""
    pids: Sequence[int] = field(default=())
    """The requested processes that still ran at the start."""
    reader: Reader = field(default_factory=Reader)
    unlisted: set[int] = field(default_factory=set)
    """Its living processes whose children could not be listed so far."""


def processes(pids: Sequence[int], reader: str | None = None) -> Target:
    """Processes and their descendants. Raises ValueError for one that cannot be followed.

    `reader` is `procfs` or `psutil`, here as below; None chooses.
    """
    chosen = choose(reader)
    for pid in pids:
        _refuse_unreadable(pid, chosen)
    ours, unlisted = os.getpid(), set[int]()

    def listed(running: Iterable[int]) -> list[int]:
        followed: dict[int, None] = {}
        for pid in running:
            if pid not in followed:
                followed |= dict.fromkeys([pid, *chosen.descendants(pid, unlisted)])
        return [pid for pid in followed if pid != ours]

    around = group_of(pids[0])
    everyone = set(listed(pids)) | {ours}
    alone = around is not None and set(members(around[0])) <= everyone and all(group_of(p) == around for p in pids)
    names = ", ".join(f"{chosen.name_of(pid)} ({pid})" for pid in pids)
    group = around if alone else None
    return Target({"pids": list(pids)}, names, listed, group, around, tuple(pids), chosen, unlisted)


def _refuse_unreadable(pid: int, reader: Reader) -> None:
    if reason := reader.why_not():
        raise ValueError(f"no process can be followed here: {reason}")
    if reader.name != "procfs":
        if pid == os.getpid():
            raise ValueError(f"--pid {pid}: that is the watcher itself")
        if reader.memory(pid) is None:
            raise ValueError(f"--pid {pid}: there is no such process here, or it may not be read")
        if reader.started(pid) is None:
            raise ValueError(f"--pid {pid}: when it was started {reader.name} cannot tell here")
        return
    status = procfs.read(pid, "status")
    if status is None:
        exists = Path(f"/proc/{pid}").exists()
        raise ValueError(f"--pid {pid}: " + ("it may not be read" if exists else "there is no such process here"))
    if pid == os.getpid():
        raise ValueError(f"--pid {pid}: that is the watcher itself")
    if procfs.parse_memory(procfs.memory_lines(status)) is None:
        raise ValueError(
            f"--pid {pid}: it has no memory: a kernel thread, or a process that has ended, or whose first thread has"
        )
    leader = re.search(rb"^Tgid:\s+(\d+)", status, re.MULTILINE)
    if leader and int(leader[1]) != pid:
        raise ValueError(f"--pid {pid}: that is a thread of process {int(leader[1])}; follow that one")


def group(path: Path, reader: str | None = None) -> Target:
    """All processes of a memory group and the groups below. Raises ValueError if it does not exist or is empty.

    `path` is a folder, or the path of a group as in /proc/PID/cgroup.
    """
    if not path.name and not path.is_absolute():
        raise ValueError(f"--cgroup {str(path)!r} names no group; /proc/PID/cgroup names those of a process")
    places = [path, *(place / str(path).strip("/") for place in (_GROUPS / "memory", _GROUPS))]
    folder = next((place for place in places if (place / "cgroup.procs").is_file()), None)
    if folder is None:
        raise ValueError(f"--cgroup {path}: there is no such group; /proc/PID/cgroup names those of a process")
    return of_folder({"cgroup": str(path)}, f"group {path}", folder.resolve(), reader)


def slurm_job(job: str, wait_s: float = 0.0, reader: str | None = None) -> Target:
    """The part of a Slurm job that runs on this node. Waits up to `wait_s` for the job to start.

    Raises ValueError if it is not found here.
    """
    until = time.monotonic() + wait_s
    while True:
        try:
            return _slurm_job(job, reader)
        except _NoTargetError:
            if time.monotonic() > until:
                raise
        time.sleep(_AGAIN_S)


def _slurm_job(job: str, reader: str | None) -> Target:
    if not re.fullmatch(r"\d+", job):
        raise ValueError(f"--slurm {job}: a job's id is a number; that of a job's array is what squeue -o %A says")
    folder = _group_of_job(job)
    if folder is None:
        raise _NoTargetError(f"--slurm {job}: it has no group on this node; squeue says on which it runs")
    until = time.monotonic() + _GROUP_S
    while not _version(folder) and time.monotonic() < until:
        time.sleep(_AGAIN_S)
        folder = _group_of_job(job) or folder
    return of_folder({"slurm_job": job}, f"Slurm job {job}", folder, reader)


def _group_of_job(job: str) -> Path | None:
    """The group of a job on this node; None if it has none, or none yet. Raises ValueError if it has several."""
    for pattern in _OF_JOB:
        folders = sorted(_GROUPS.glob(pattern.format(id=job)))
        if len(folders) > 1:
            groups = ", ".join(map(str, folders))
            raise ValueError(f"--slurm {job}: it has several groups here, take one with --cgroup: {groups}")
        if folders:
            return folders[0]
    return None


def of_folder(named: dict[str, object], name: str, folder: Path, reader: str | None) -> Target:
    """All processes of the group in a folder. Raises ValueError if it is empty."""
    ours = os.getpid()

    def listed(_: Iterable[int]) -> list[int]:
        return [pid for pid in members(folder) if pid != ours]

    pids = listed(())
    if not pids:
        raise _NoTargetError(f"{name}: nobody is in it")
    version = _version(folder)
    counted = (folder, version) if version else None
    return Target(named, name, listed, counted, counted or group_of(pids[0]), reader=choose(reader))


def _version(folder: Path) -> int | None:
    """The cgroup version of a group with the memory controller; None without it."""
    for version, name in ((1, "memory.usage_in_bytes"), (2, "memory.current")):
        if (folder / name).exists() and (folder / "memory.stat").exists():
            return version
    return None


def members(folder: Path) -> list[int]:
    """The process ids of a group and the groups below, in this namespace; empty if it is gone."""
    pids: dict[int, None] = {}
    for at, _, files in os.walk(folder):
        if "cgroup.procs" in files:
            try:
                with open(os.path.join(at, "cgroup.procs"), "rb") as file:  # noqa: PTH118, PTH123
                    pids |= dict.fromkeys(int(word) for word in file.read().split())
            except OSError:
                continue
    pids.pop(0, None)  # of another PID namespace
    return list(pids)


def group_of(pid: int) -> tuple[Path, int] | None:
    """Folder and version of the memory group of a process; None for the root."""
    text = procfs.read(pid, "cgroup")
    return None if text is None else memory_group.own_group(groups=text.decode(errors="replace"))


class Followed(Tree):
    """The processes of a target, and their usage before the attach."""

    def __init__(self, target: Target, *, reset: bool = False) -> None:
        """`reset` resets the high-water marks at the attach."""
        super().__init__(0, target.reader)  # no process of ours adopts theirs
        self.target, self.resets, self.unlisted = target, reset and self.resets, target.unlisted
        self.by_group = target.group is not None and not target.pids
        self._members: set[int] = set()
        self._began_s = self.reader.now()
        self._started: dict[int, float] = {}
        """The start time of each process, in seconds on its reader's clock."""
        self._now: dict[int, float] = {}
        """The start times at the last listing, of whichever processes have these ids now."""
        self._seen: dict[int, procfs.Usage] = {}
        self._parents: dict[int, int] = {}
        self._gone = procfs.Usage()
        self.before: dict[int, int] = {}
        """The high-water mark of each process before the attach, in bytes."""
        self._named = {pid: at for pid in target.pids if (at := self.reader.started(pid)) is not None}
        self._first: procfs.Usage | None = None

    def listed(self) -> list[int]:
        started = self._named | self._started
        self._now = {pid: at for pid in started if (at := self.reader.started(pid)) is not None}
        same = [pid for pid, at in self._now.items() if started[pid] == at]
        hidden = [pid for pid in started if pid not in self._now and procfs.lives(pid)]
        pids = self.target.listed([*same, *hidden])
        self._members = set(pids)
        return pids

    def memory(self) -> tuple[bool, list[Process]]:
        changed, ended = super().memory()
        # They moved to another group.
        left = [process for process in self.living if process.pid not in self._members]
        for process in left:
            self._forget(process)
        return changed or bool(left), [*ended, *left]

    def age_s(self) -> float:
        """How long the oldest process had run at the attach, in seconds."""
        return max(0.0, self._began_s - min(self._started.values(), default=self._began_s))

    def _list_if_needed(self) -> bool:
        if not super()._list_if_needed():
            return False
        for pid in self._members & (self.processes.keys() | self._zombies.keys()):
            at = self._now.get(pid) or self.reader.started(pid)
            if at is None:
                continue
            if self._started.setdefault(pid, at) != at:  # the id of a process that has ended
                self._replace(pid, at)
            elif HWM in self.reader.unknown:
                continue
            elif at < self._began_s and pid not in self.before and pid in self.processes:
                now = self.reader.memory(pid)
                self.before[pid] = now.hwm_bytes if now else 0
                if not (self.resets and reset_high_water(pid)):
                    self.processes[pid].floor = self.before[pid]
        for pid in self._started.keys() - self.listed_pids():
            self._let_go(pid)
        return True

    def _replace(self, pid: int, at_s: float) -> None:
        if pid in self.processes:
            self._forget(self.processes[pid])
        self.reader.forget(self._zombies.pop(pid))
        self._let_go(pid)
        self._started[pid] = at_s
        self.processes[pid] = Process(pid)
        self.living.append(self.processes[pid])

    def _let_go(self, pid: int) -> None:
        """Forget an ended process. Its resources still count, unless a process of the target reaped it."""
        self._started.pop(pid, None)
        used = self._seen.pop(pid, None)
        if used is not None and self._parents.pop(pid, 0) not in self._started:
            self._gone = procfs.combined(sum, [self._gone, used])

    def usage(self) -> procfs.Usage:
        """Resources of the target since the attach."""
        for process in [*self.processes.values(), *self._zombies.values()]:
            if reading := self.reader.used(process):
                used, self._parents[process.pid] = reading
                # Its storage stays known if it becomes unreadable.
                self._seen[process.pid] = procfs.combined(max, [used, self._seen.get(process.pid, used)])
        total = procfs.combined(sum, [self._gone, *self._seen.values()])
        self._first = self._first or total
        pairs = zip(total, self._first, strict=True)
        since = procfs.Usage._make(None if now is None else now - (then or 0) for now, then in pairs)
        return self._at_least(since)

    @property
    def used_before_s(self) -> float | None:
        """CPU seconds of the followed processes and their ended children before the attach; None if unknown."""
        return self._first.cpu_s if self._first else None
