"""A scope of systemd's in which this process may make groups: the user's manager, or the system's for root.

systemd moves the running process into the scope, by its id. That must escape no limit: a process in a group with a
limit, or in a scheduler's or a container runtime's group, stays where it is.
"""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from .. import memory_group
from ..memory_group import Own
from . import v2
from .group import Group, GroupError, new_name

_RUNS = "/run/systemd/system"
_CALL_S, _MOVED_S = 25.0, 10.0
_MANAGER = ("org.freedesktop.systemd1", "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager")
# Groups of other supervisors, which count, limit and end their processes together.
_SUPERVISORS = re.compile(r"slurm|htcondor|pbs|sge|lsf|kubepods|docker|libpod|crio|cri-containerd|machine\.slice|lxc")


def is_delegated(own: Own) -> bool:
    """Whether systemd leaves the unit of this process to its processes. True outside of any unit."""
    unit = next((at for at in (own.folder, *own.folder.parents) if at.suffix in (".scope", ".service")), None)
    if unit is None or not Path(_RUNS).is_dir():
        return True
    try:
        return os.getxattr(unit, "user.delegate") == b"1"
    except OSError:
        return False


def in_scope(own: Own, limit_bytes: int | None) -> Group:
    """Move this process into a scope, and make a group there. Raises GroupError with the step that failed."""
    if not Path(_RUNS).is_dir():
        raise GroupError("")
    if not (busctl := shutil.which("busctl")):
        raise GroupError("systemd runs here, but there is no busctl to ask it for a scope")
    user = os.getuid() != 0
    _refuse_to_leave(own, user)
    environment = os.environ | {"LC_ALL": "C", "SYSTEMD_COLORS": "0"}
    if user:
        environment.setdefault("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    name = f"{new_name('command')}.scope"
    pid = str(os.getpid())
    properties = ["PIDs", "au", "1", pid, "Delegate", "b", "true", "CollectMode", "s", "inactive-or-failed"]
    properties += ["Description", "s", "A command that beyond-ram measures"]
    count = 4
    slices = [part for part in own.folder.parts if part.endswith(".slice")]
    if not user and slices:  # keep its limits
        properties += ["Slice", "s", slices[-1]]
        count += 1
    call = [busctl, *(["--user"] if user else []), "call", *_MANAGER, "StartTransientUnit", "ssa(sv)a(sa(sv))"]
    try:
        call_result = subprocess.run(
            [*call, name, "fail", str(count), *properties, "0"],
            env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_CALL_S,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GroupError(f"systemd was asked for a scope: {type(error).__name__}") from None
    if call_result.returncode:
        raise GroupError(f"systemd was asked for a scope: {' '.join(call_result.stderr.split())[:200]}")
    scope = _arrived(name)
    return v2.below(scope, limit_bytes, f"systemd, scope of the {'user' if user else 'system'} manager")


def _arrived(name: str) -> Own:
    """Wait until this process is in the scope, because systemd answers before. Raises GroupError."""
    until = time.monotonic() + _MOVED_S
    while True:
        own = memory_group.own_folder()
        if own is not None and own.folder.name == name:
            return own
        if time.monotonic() > until:
            raise GroupError("systemd has made a scope, and not moved this process into it")
        time.sleep(0.01)


def _refuse_to_leave(own: Own, user: bool) -> None:
    """Raise GroupError if leaving its group would free this process from a limit or from another supervisor."""
    if other := _SUPERVISORS.search(str(own.folder)):
        raise GroupError(f"this process is in {own.folder}, and leaves no group of {other[0]}")
    for folder in (own.folder, *own.folder.parents):
        if folder.name == f"user-{os.getuid()}.slice" if user else folder.name.endswith(".slice"):
            return
        if limits := [name for name in v2.LIMITS if memory_group.is_limited(folder, name)]:
            raise GroupError(f"a scope of systemd's would leave {limits[0]} of {folder}")
