"""A memory group for the command: the kernel's own peak of the whole tree, and a limit.

There is a module for each way to make one: `v1` and `v2` by the kernel's files, `systemd` by a scope in which `v2` may
write. `make` takes the first way that works here.
"""

from .. import memory_group
from . import systemd, v1, v2
from .group import Group, GroupError, LimitError

__all__ = ["Group", "GroupError", "LimitError", "make"]


def make(limit_bytes: int | None = None) -> Group:
    """Make a new group, limited to `limit_bytes` of memory without swap.

    May move this process and its descendants into another group: below its own, or into a scope of systemd's. Raises
    GroupError, whose text names the step that failed and what would help.
    """
    own = memory_group.own_folder()
    if own is None:
        raise GroupError("no memory controller is mounted here: on cgroup v2, mount -t cgroup2 none /sys/fs/cgroup")
    if own.version == 1:
        return v1.make(own, limit_bytes)
    # systemd may change what it has not delegated at any time, and ends a whole unit after a kill by the kernel.
    ways = [v2.below, systemd.in_scope, v2.beside]
    if not systemd.is_delegated(own):
        ways = [systemd.in_scope, v2.below, v2.beside]
    reasons = []
    for way in ways:
        try:
            return way(own, limit_bytes)
        except GroupError as error:
            reasons.append(str(error))
            own = memory_group.own_folder() or own
    raise GroupError("; ".join([*dict.fromkeys(filter(None, reasons)), v2.advice(own)]))
