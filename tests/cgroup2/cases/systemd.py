"""systemd as the first process: root's service, an ordinary user's session, containers."""

import os
import subprocess
from functools import cache
from pathlib import Path

from . import common
from .common import MB, check_kill, check_limit, holds, made, wait_until, watch

PLACE = "systemd"
BELOW = "cgroup v2, child of the own group"
USERS, SYSTEMS = (f"systemd, scope of the {manager} manager" for manager in ("user", "system"))
REFUSED = "beyond-ram: no memory limit can be set here: "


@cache
def user(name):
    """Create an ordinary user, and return its id."""
    subprocess.run(["useradd", "-m", "-s", "/bin/bash", name], check=True)
    return int(subprocess.run(["id", "-u", name], capture_output=True, text=True, check=True).stdout)


def linger(name):
    """Start the user's manager without a session."""
    subprocess.run(["loginctl", "enable-linger", name], check=True)
    assert wait_until(Path(f"/run/user/{user(name)}/bus").exists, 60)


def session(name="worker"):
    """Return a command that starts a session, as ssh or a login does."""
    user(name)
    service = ["systemd-run", "-q", "--wait", "--pipe", f"--uid={name}", "-p", "PAMName=login"]
    return [*service, "-p", f"WorkingDirectory=/home/{name}", "-p", f"Environment=PATH={os.environ['PATH']}"]


def becoming(name):
    """Return a command that becomes another user, without a session and its variables."""
    user(name)
    words = ["setpriv", f"--reuid={name}", f"--regid={name}", "--init-groups", "env", "-u", "XDG_RUNTIME_DIR"]
    return [*words, f"HOME=/home/{name}"]


def case_systemd_is_the_first_process():
    assert Path("/proc/1/comm").read_text().strip() == "systemd"
    output = subprocess.run(["systemctl", "--version"], capture_output=True, text=True, check=True).stdout
    return {"kernel": os.uname().release, "systemd": output.splitlines()[0]}


def case_user_session():
    """The README's command, as an ordinary user, with nothing to configure."""
    return check_limit(USERS, prefix=session())


def case_user_session_by_a_shell():
    return check_kill(USERS, prefix=[*session(), "bash", "-c", '"$@"; exit $?', "bash"])


def case_user_with_a_manager_and_no_session():
    prefix = becoming("lingering")
    linger("lingering")
    return check_kill(USERS, prefix=prefix)


def case_root_in_a_delegated_scope():
    scope = ["systemd-run", "-q", "--scope", "-p", "Delegate=yes"]
    result = watch("--memory-limit", "60M", "--", *holds(100 * MB), prefix=scope)
    assert (result.record["outcome"], result.mechanism) == ("killed_at_limit", BELOW)


def case_user_in_a_scope_with_a_limit():
    """The record has the limit of the scope, and a lower limit inside it works."""
    scope = [*session(), "systemd-run", "-q", "--user", "--scope", "-p", "MemoryMax=400M", "-p", "MemorySwapMax=0"]
    result = watch("--memory-limit", "60M", "--", *holds(100 * MB), prefix=scope)
    assert (result.record["outcome"], result.mechanism) == ("killed_at_limit", BELOW)
    assert result.record["peak"]["around"]["limit_bytes"] == 400 << 20


def case_user_without_a_manager_is_refused():
    prefix = becoming("nobodys")
    refused = watch("--memory-limit", "150M", "--", "true", prefix=prefix)
    assert (refused.status, len(refused.stderr.splitlines())) == (2, 1)
    assert refused.stderr.startswith(REFUSED)
    assert "loginctl enable-linger" in refused.stderr
    measured = watch("--", *holds(40 * MB), prefix=prefix)
    assert measured.status == 0
    assert measured.record["peak"]["around"]["version"] == 2, "the own group was not read"
    linger("nobodys")
    assert watch("--memory-limit", "150M", "--", "true", prefix=prefix).mechanism == USERS, (
        "the advised command did not help"
    )


def case_user_leaves_no_limit():
    """A user with a manager is in a group of root with a limit. A scope of the user would not have that limit."""
    prefix = ["systemd-run", "-q", "--scope", "-p", "MemoryMax=400M", *becoming("lingering")]
    linger("lingering")
    refused = watch("--memory-limit", "150M", "--", "true", prefix=prefix)
    assert (refused.status, len(refused.stderr.splitlines())) == (2, 1)
    assert "would leave memory.max" in refused.stderr


def case_service_of_root():
    """The service's group has its shell, and the runner of these cases."""
    return check_limit(SYSTEMS)


def case_service_that_is_the_watcher():
    """By default systemd ends a whole service after the kernel killed one of its processes."""
    return check_kill(SYSTEMS, prefix=["systemd-run", "-q", "--wait", "--pipe"])


def case_root_shell():
    """A session of root with its shell, as by ssh."""
    login = ["systemd-run", "-q", "--wait", "--pipe", "-p", "PAMName=login"]
    login += ["-p", f"Environment=PATH={os.environ['PATH']}"]
    return check_kill(SYSTEMS, prefix=[*login, "bash", "-c", '"$@"; exit $?', "bash"])


def case_the_peak_of_a_service():
    """`--cgroup` reads the peak and limit of a running service."""
    unit = ["systemd-run", "-q", "--unit=held", "-p", "MemoryMax=300M", "-p", "MemoryAccounting=yes"]
    end = Path("/var/tmp/end-of-service")
    subprocess.run([*unit, *common.holds_until(end, 60 * MB)], check=True)
    folder = Path("/sys/fs/cgroup/system.slice/held.service")
    assert wait_until(lambda: folder.exists() and int((folder / "memory.current").read_text()) > 60 * MB)
    result = watch("--cgroup", str(folder), end=end)
    assert result.status == 0
    assert 60 * MB < result.cgroup_bytes < 100 * MB
    assert result.record["peak"]["around"]["limit_bytes"] == 300 << 20
    assert result.record["peak"]["around"]["kills"] == 0


def _container(group, mode, who=(), shell='"$@"'):
    """Do what a runtime does: enter the group from outside, then a cgroup namespace with its own mount."""
    mounts = {
        "read-only": "umount -R /sys/fs/cgroup; mount -t cgroup2 -o ro,nosuid,nodev,noexec cgroup /sys/fs/cgroup",
        "writable": "umount -R /sys/fs/cgroup; mount -t cgroup2 cgroup /sys/fs/cgroup",
        "host's": "mount --bind /sys/fs/cgroup /sys/fs/cgroup; mount -o remount,bind,ro /sys/fs/cgroup",
    }
    unshare = f'exec unshare -m -C --propagation private bash -c \'{mounts[mode]}; exec "$@"\' - "$@"'
    inner = [*who, "bash", "-c", f"{shell}; exit $?", "bash"] if shell != '"$@"' else list(who)
    return ["bash", "-c", f"echo $$ > {group}/cgroup.procs; {unshare}", "-", *inner]


def _pod(**files):
    pod = "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a1b.slice"
    return made(f"{pod}/cri-containerd-77ff.scope", **files)


def case_container_with_a_writable_group():
    with _pod(memory_max="600M") as group:
        outcomes = check_kill(BELOW, prefix=_container(group, "writable"))
        assert not (group / "cgroup.subtree_control").read_text().split()
    return outcomes


def case_container_with_a_writable_group_of_a_user():
    with _pod(memory_max="600M") as group:
        number = user("contained")
        for name in (".", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"):
            os.chown(group / name, number, number)
        who = ["setpriv", "--reuid=contained", "--regid=contained", "--init-groups"]
        return check_limit(BELOW, prefix=_container(group, "writable", who))


def case_container_with_a_read_only_group():
    """No limit can be set, but the group's limit, peak and kills are read."""
    with _pod(memory_max="200M", memory_swap_max="0") as group:
        prefix = _container(group, "read-only")
        refused = watch("--memory-limit", "150M", "--", "true", prefix=prefix)
        assert (refused.status, len(refused.stderr.splitlines())) == (2, 1)
        assert "Read-only file system" in refused.stderr
        assert "docker run --memory" in refused.stderr
        measured = watch("--", *holds(60 * MB), prefix=prefix)
        around = measured.record["peak"]["around"]
        assert (measured.status, around["version"], around["limit_bytes"]) == (0, 2, 200 << 20)
        assert around["peak_bytes"] > 60 * MB
        assert measured.record["peak"]["kept"]["basis"] == "around"
        assert measured.record["pressure"]["of"] != "machine"
        killed = watch("--", *holds(300 * MB), prefix=prefix)
        assert killed.record["killed_for_memory"]
        assert killed.record["peak"]["around"]["kills"] == 1


def case_container_with_the_tree_of_its_host():
    """/proc/self/cgroup has `/`, and the mount there is not the own group."""
    with _pod(memory_max="400M") as group:
        measured = watch("--", *holds(50 * MB), prefix=_container(group, "host's"))
        around = measured.record["peak"]["around"]
        assert measured.status == 0
        assert around is None or around["limit_bytes"] == 400 << 20


def case_pod_limit_around_a_container():
    """The pod's limit kills, not the container's: the container has a kill without an `oom` event."""
    with _pod(memory_max="300M", memory_swap_max="0") as group:
        (group.parent / "memory.max").write_text("120M")
        measured = watch("--", *holds(200 * MB), prefix=_container(group, "read-only"))
        assert measured.record["killed_for_memory"]
        limited = watch("--memory-limit", "250M", "--", *holds(200 * MB), prefix=_container(group, "writable"))
        assert limited.record["killed_for_memory"]
        assert limited.record["outcome"] == "failed", "it was blamed on the wrong limit"
        (group.parent / "memory.max").write_text("max")


def case_attach_to_a_pod():
    with _pod(memory_max="300M") as group:
        result = common.attach(group)
        assert result.record["peak"]["around"]["limit_bytes"] == 300 << 20


def case_nothing_is_left():
    common.assert_no_group_is_left()
