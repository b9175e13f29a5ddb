"""Root without systemd."""

import contextlib
import os
import signal
import subprocess
from pathlib import Path

from . import common
from .common import MB, ROOT_GROUP, check_kill, check_limit, groups_of_ours, holds, made, wait_until, watch

PLACE = "plain"
BELOW, BESIDE = "cgroup v2, child of the own group", "cgroup v2, child of a group around"


def case_the_kernel_has_cgroup_v2():
    assert "memory" in (ROOT_GROUP / "cgroup.controllers").read_text().split()
    assert Path("/proc/pressure/memory").exists()
    assert not Path("/run/systemd/system").exists()
    return {"kernel": os.uname().release}


def case_root_group():
    (ROOT_GROUP / "cgroup.subtree_control").write_text("-memory")
    outcomes = check_kill(BELOW)
    assert "memory" not in (ROOT_GROUP / "cgroup.subtree_control").read_text().split(), (
        "the controllers were not restored"
    )
    return outcomes


SWAPS = """
import sys
own = open('/proc/self/cgroup').read().strip()[3:]
sys.exit(open(f'/sys/fs/cgroup{own}/memory.swap.max').read() != '0\\n')
"""


def case_alone_in_a_group():
    with made("alone") as group:
        outcomes = check_limit(BELOW, group=group)
        assert not (group / "cgroup.subtree_control").read_text().split(), "the controllers were not restored"
        assert watch("--memory-limit", "60M", "--", *common.PYTHON, SWAPS, group=group).status == 0, "it may swap"
    return outcomes


@contextlib.contextmanager
def occupied(path, **files):
    """Make a group that has another process, and yield the group and the process's id."""
    other = ["sleep", "1000"]
    with made(path, **files) as group, subprocess.Popen(other, preexec_fn=common.joining(group)) as running:
        try:
            yield group, running.pid
        finally:
            running.kill()


def case_with_others_in_the_group():
    with occupied("shell") as (group, other):
        outcomes = check_limit(BESIDE, group=group)
        assert (group / "cgroup.procs").read_text().split() == [str(other)], "others were moved"
    return outcomes


def case_group_with_a_limit_is_not_left():
    """A group beside it would not have that limit."""
    with occupied("limited", memory_max="200M") as (group, _):
        refused = watch("--memory-limit", "150M", "--", "true", group=group)
        assert refused.status == 2
        assert len(refused.stderr.splitlines()) == 1
        assert "memory.max" in refused.stderr
        assert "mkdir" in refused.stderr, "the line lacks the command that would help"
        measured = watch("--", *holds(60 * MB), group=group)
        around = measured.record["peak"]["around"]
        assert measured.status == 0
        assert around["limit_bytes"] == 200 << 20
        assert around["peak_bytes"] > 60 * MB
        assert "limit of 210 MB" in measured.stderr
        killed = watch("--", *holds(300 * MB), group=group)
        assert killed.record["killed_for_memory"]
        assert killed.record["outcome"] == "failed"


def case_advised_command_makes_room():
    """As in a container with a writable group: only the own group is visible, and a shell is in it."""
    with occupied("container", memory_max="600M") as (group, _):
        refused = watch("--memory-limit", "150M", "--", "true", group=group)
        assert refused.status == 2
        command = refused.stderr.partition("to make room for one: ")[2]
        subprocess.run(["sh", "-ec", command], check=True)
        return check_kill(BESIDE, group=group / "shell")


def case_a_limit_within_a_limit():
    """A kill at the inner limit is not a kill at the outer one."""
    inner = [*common.BEYOND_RAM, "watch", "--memory-limit", "60M", "--", *holds(100 * MB)]
    outer = watch("--memory-limit", "500M", "--", *inner)
    assert "killed_at_limit" in outer.stderr.splitlines()[0]
    assert (outer.status, outer.record["outcome"]) == (137, "failed"), outer.record["outcome"]
    assert not groups_of_ours()


def case_kill_at_the_limit_ends_all_processes():
    program = f"import os, signal; os.fork() or bytearray({100 * MB}); signal.pause()"
    result = watch("--memory-limit", "60M", "--", *common.PYTHON, program)
    assert result.record["outcome"] == "killed_at_limit"
    assert not result.record["left_running"]


def case_background_process_survives_the_command():
    result = watch("--memory-limit", "150M", "--", "sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo")
    (left,) = result.record["left_running"]
    try:
        assert result.status == 0
        assert not groups_of_ours()
    finally:
        os.kill(left["pid"], signal.SIGKILL)


def case_a_group_of_a_killed_run_is_removed_by_the_next():
    with made("killed") as group:
        words = [*common.BEYOND_RAM, "watch", "--memory-limit", "1G", "--", "sleep", "1000"]
        running = subprocess.Popen(words, preexec_fn=common.joining(group), stderr=subprocess.DEVNULL)
        assert wait_until(lambda: list(group.glob("*-command*/")) and _pids(group))
        (group / "cgroup.kill").write_text("1")  # watcher, guard and command at once: none can clean up
        running.wait()
        assert wait_until(lambda: not _pids(group))
        assert groups_of_ours()
        (group / "cgroup.subtree_control").write_text("-memory")
        result = watch("--memory-limit", "150M", "--", "true", group=group)
        assert result.status == 0
        assert not groups_of_ours()


def _pids(group):
    """Return the processes in the group and below. Groups that end meanwhile are skipped."""
    pids = []
    for folder, _, _ in os.walk(group):
        with contextlib.suppress(OSError):
            pids += Path(folder, "cgroup.procs").read_text().split()
    return pids


def case_given_group():
    """`--cgroup` reads the peak, kills and limit of a group of others."""
    with made("pod", memory_max="150M") as group:
        subprocess.run(common.holds(200 * MB), preexec_fn=common.joining(group))
        result = common.attach(group)
        peak = result.record["peak"]
        assert peak["cgroup"]["version"] == 2
        assert peak["around"]["limit_bytes"] == 150 << 20
        assert peak["around"]["kills"] == 0, "an earlier kill was counted"
        assert result.record["attached"]["before"]["cgroup_peak_bytes"] > 140 << 20
        assert "cgroup      none" not in result.stderr
