"""The group that a command runs in, whichever way it was made."""

import contextlib
import itertools
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from .. import procfs
from ..memory_group import GroupMeter

_NAME = re.compile(r"beyond-ram-(\d+)-(\d+)-(\d+)-(command|watcher)\d*")
_REMOVED_WITHIN_S = 2.0
_counter = itertools.count()


class GroupError(RuntimeError):
    """No group can be made here; the text is one line with the reason."""


class LimitError(RuntimeError):
    """A memory limit cannot be set here; the text is one line with the reason."""


class Group:
    """A memory group for one command. Processes join it through `processes_files`, before exec."""

    def __init__(
        self, path: Path, version: int, mechanism: str, home: Path, undo: Callable[[], None] = lambda: None
    ) -> None:
        """`home` is the group for processes that outlive the command. `undo` reverts changes around the group after its
        removal."""
        self.path, self.version, self.mechanism = path, version, mechanism
        self.folders = [str(path)]
        self.processes_files = [f"{path}/cgroup.procs"]
        self.leaf = str(home) if was_made_here(home, "watcher") else None
        """The group that this process was moved to, to make room for the command's group; None if it was not moved."""
        self._home, self._undo = home, undo
        self.meter = GroupMeter(path, version, ours=True)

    def killed(self) -> bool:
        """Whether the kernel killed a process of the group for lack of memory, at whichever limit."""
        return bool(self.meter.kills())

    def killed_at_limit(self) -> bool:
        """Whether this group's own limit made the kernel kill. Limits below or above it may kill as well."""
        return self.killed() and self.meter.at_limit()

    def remove(self) -> None:
        """Remove the group; processes that still run in it move to `home`."""
        self.meter.close()
        remove(self.path, self._home)
        self._undo()


def new_name(kind: str) -> str:
    """A name with the maker of a group: PID namespace, process id and start time."""
    return f"beyond-ram-{_namespace()}-{os.getpid()}-{_started(os.getpid())}-{kind}{next(_counter)}"


def is_ours(folder: Path) -> bool:
    """Whether this process made the group."""
    return _maker(folder)[:3] == (_namespace(), str(os.getpid()), _started(os.getpid()))


def was_made_here(folder: Path, kind: str) -> bool:
    """Whether a process of this program, which may have ended, made the group."""
    return _maker(folder)[3:] == (kind,)


def _maker(folder: Path) -> tuple[str | None, ...]:
    """PID namespace, process id and start time of a group's maker, and the group's kind; () for other groups."""
    match = _NAME.fullmatch(folder.name)
    return match.groups() if match else ()


def remove_abandoned(parent: Path) -> None:
    """Remove empty groups below `parent` whose makers were killed."""
    with contextlib.suppress(OSError):
        for folder in parent.glob("beyond-ram-*-*-*-*"):
            namespace, pid, started = _maker(folder)[:3] or ("", "0", "")
            if namespace == _namespace() and _started(int(pid or 0)) != started:
                with contextlib.suppress(OSError):
                    folder.rmdir()


def remove(folder: Path, home: Path) -> None:
    """Move the remaining processes of a group to `home`, and remove it. Killed processes need a moment to leave."""
    until = time.monotonic() + _REMOVED_WITHIN_S
    while True:
        with contextlib.suppress(OSError):
            for pid in (folder / "cgroup.procs").read_text().split():
                with contextlib.suppress(OSError):
                    (home / "cgroup.procs").write_text(pid)
        try:
            folder.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > until:
                return
            time.sleep(0.02)


def _namespace() -> str:
    return str(os.stat("/proc/self/ns/pid").st_ino)  # noqa: PTH116


def _started(pid: int) -> str:
    """The start time of a process in ticks; "" if there is no such process."""
    stat = procfs.read(pid, "stat")
    return procfs.stat_fields(stat)[19].decode() if stat else ""
