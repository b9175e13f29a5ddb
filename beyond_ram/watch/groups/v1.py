"""cgroup v1: a child of this process's group, in the hierarchy of the memory controller only.

A scheduler kills by a hierarchy of its own, and would miss processes that left it.
"""

import contextlib

from ..memory_group import Own
from .group import Group, GroupError, new_name, remove, remove_abandoned


def make(own: Own, limit_bytes: int | None) -> Group:
    """Make a child group. Raises GroupError with the reason."""
    remove_abandoned(own.folder)
    folder = own.folder / new_name("command")
    step = f"mkdir {folder}"
    try:
        folder.mkdir()
        if limit_bytes is not None:
            step = f"memory.limit_in_bytes of {folder}"
            (folder / "memory.limit_in_bytes").write_text(str(limit_bytes))
            # Memory and swap together; missing if the kernel does not count swap.
            with contextlib.suppress(FileNotFoundError):
                if (folder / "memory.memsw.limit_in_bytes").exists():
                    (folder / "memory.memsw.limit_in_bytes").write_text(str(limit_bytes))
        group = Group(folder, 1, "cgroup v1, child of the own group", own.folder)
        if limit_bytes is not None and group.meter.kills() is None:
            group.remove()
            raise GroupError("the kernel does not report its kills")
        return group
    except OSError as error:
        remove(folder, own.folder)
        raise GroupError(f"{step}: {error.strerror}; as root: sudo beyond-ram watch …") from None
