"""cgroup v2 by the kernel's files: a group below our own, or below one of its ancestors.

Except for the root, a group that passes controllers on to child groups cannot have processes itself. So the processes
of our group, if all of them are this process and its descendants, first move to a child group of their own.
"""

import contextlib
import errno
import os
import re
from collections.abc import Callable
from pathlib import Path

from .. import memory_group, procfs
from ..memory_group import Own
from .group import Group, GroupError, is_ours, new_name, remove, remove_abandoned, was_made_here

_MOVES, _ATTEMPTS = 20, 3
BELOW, BESIDE = "cgroup v2, child of the own group", "cgroup v2, child of a group around"


class _TakenBackError(Exception):
    """A new group has no memory controller, because another run has just ended."""


def below(own: Own, limit_bytes: int | None, mechanism: str = BELOW) -> Group:
    """Make a group below our own. Raises GroupError with the step that failed."""
    if was_made_here(own.folder, "watcher"):  # another run moved us here: the parent has room for groups
        own = Own(own.folder.parent, 2, is_root=False)
    remove_abandoned(own.folder)
    for _ in range(_ATTEMPTS):
        enabled = _give_memory(own)
        home, undo = (memory_group.own_folder() or own).folder, _restore(own, enabled=enabled)
        with contextlib.suppress(_TakenBackError):
            return _limited(own.folder, limit_bytes, mechanism, home, undo)
    raise GroupError(f"memory is given to groups below {own.folder}, and taken back by others")


def beside(own: Own, limit_bytes: int | None) -> Group:
    """Make a group below an ancestor that passes memory on to its children. Raises GroupError."""
    inner = own.folder
    while (parent := inner.parent) != inner and (parent / "cgroup.subtree_control").exists():
        if not os.access(parent, os.W_OK):
            break
        if match := _FOREIGN.match(inner.name):
            raise GroupError(f"this process is in {own.folder}, and a group beside it would leave {match[0]}")
        if limits := [name for name in LIMITS if memory_group.is_limited(inner, name)]:
            raise GroupError(f"a group beside {own.folder} would leave {limits[0]} of {inner}")
        if "memory" in (parent / "cgroup.subtree_control").read_text().split():
            remove_abandoned(parent)
            with contextlib.suppress(_TakenBackError):
                return _limited(parent, limit_bytes, BESIDE, own.folder)
        inner = parent
    raise GroupError("")


# Groups of container runtimes and schedulers, which end them as a whole.
_FOREIGN = re.compile(r"(docker|cri-containerd|crio|libpod)-.*|kubepods.*|job_\d+|pod.*")
LIMITS = ("memory.max", "memory.high", "cpu.max")
"""Limits that a command must not escape by leaving a group."""


def advice(own: Own) -> str:
    """The command that would make it possible to make a group here."""
    folder = own.folder
    if not os.access(folder / "cgroup.subtree_control", os.W_OK):
        if os.statvfs(folder).f_flag & os.ST_RDONLY:
            return "give the container itself the limit: docker run --memory 2G"
        if "SLURM_JOB_ID" in os.environ:
            return "give the job itself the limit: sbatch --mem=2G"
        if Path("/run/systemd/system").exists():
            return f"to have systemd make one for this user: sudo loginctl enable-linger {os.getuid()}"
        return "as root: sudo beyond-ram watch …"
    shell = folder / "shell"
    move = f"for p in $(cat {folder}/cgroup.procs); do echo $p > {shell}/cgroup.procs; done"
    return f"to make room for one: mkdir {shell}; {move}; echo +memory > {folder}/cgroup.subtree_control"


def _give_memory(own: Own) -> bool:
    """Pass the memory controller on to child groups. Returns whether that changed anything. Raises GroupError."""
    folder = own.folder
    control = folder / "cgroup.subtree_control"
    step = "cgroup.controllers"
    try:
        if "memory" not in (folder / "cgroup.controllers").read_text().split():
            raise GroupError(f"cgroup.controllers of {folder} has no memory")
        step = "+memory to cgroup.subtree_control"
        if "memory" in control.read_text().split():
            return False
        try:
            control.write_text("+memory")
            return True
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
        others = [pid for pid in _members(folder) if pid not in _ours()]
        if others:
            names = ", ".join(f"{procfs.name(pid)} ({pid})" for pid in others[:3])
            raise GroupError(f"{folder} holds processes that are not ours: {names}")
        step = "moving this process to a group below"
        leaf = folder / new_name("watcher")
        leaf.mkdir()
        try:
            _move(folder, leaf)
            step = "+memory to cgroup.subtree_control, after the move"
            control.write_text("+memory")
        except BaseException:
            _move(leaf, folder)
            remove(leaf, folder)
            raise
    except OSError as error:
        raise GroupError(f"{step} of {folder}: {error.strerror}") from None
    return True


def _limited(
    parent: Path, limit_bytes: int | None, mechanism: str, home: Path, undo: Callable[[], None] = lambda: None
) -> Group:
    folder = parent / new_name("command")
    step = "mkdir in"
    try:
        folder.mkdir()
        if limit_bytes is not None:
            step = "memory.max below"
            (folder / "memory.max").write_text(str(limit_bytes))
            if (folder / "memory.swap.max").exists():
                (folder / "memory.swap.max").write_text("0")
            # Let the kernel kill the whole group: the rest might wait for ever for the killed process.
            (folder / "memory.oom.group").write_text("1")
        return Group(folder, 2, mechanism, home, undo)
    except OSError as error:
        remove(folder, home)
        undo()
        if isinstance(error, FileNotFoundError):
            raise _TakenBackError from None
        raise GroupError(f"{step} {parent}: {error.strerror}") from None


def _restore(own: Own, *, enabled: bool) -> Callable[[], None]:
    """A function that undoes `_give_memory`, once no group but that of this process remains below."""

    def restore() -> None:
        with contextlib.suppress(OSError):
            remaining = [folder for folder in own.folder.iterdir() if folder.is_dir()]
            control = own.folder / "cgroup.subtree_control"
            if not remaining and enabled:
                control.write_text("-memory")
            if len(remaining) != 1 or not is_ours(remaining[0]) or set(_members(remaining[0])) - _ours():
                return
            control.write_text("-memory")
            _move(remaining[0], own.folder)
            remove(remaining[0], own.folder)

    return restore


def _move(source: Path, target: Path) -> None:
    """Move all processes of a group, including those that start meanwhile."""
    for _ in range(_MOVES):
        pids = _members(source)
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                (target / "cgroup.procs").write_text(str(pid))


def _members(folder: Path) -> list[int]:
    """The process ids of a group; 0 stands for a process of another PID namespace."""
    return [int(word) for word in (folder / "cgroup.procs").read_text().split()]


def _ours() -> set[int]:
    return {os.getpid(), *procfs.descendants(os.getpid())}
