"""A memory limit kills the whole tree, or is refused in one line."""

import os
import threading
import time

import pytest

from beyond_ram.memory_request import request_of
from beyond_ram.watch import LimitError, WatchOptions, groups, machine, watch
from beyond_ram.watch.watcher import ends_by

from .conftest import PYTHON, called, needs_group

WORKER_TAKES = """
import os, signal, sys
if os.fork() == 0:
    held = b'x' * int(sys.argv[1])
    os._exit(0)
signal.pause() if int(sys.argv[2]) else os.wait()
"""

KILLED_INSIDE = """
import os, pathlib, sys, time
line = next(one for one in open('/proc/self/cgroup') if 'memory' in one.split(':')[1].split(','))
group = pathlib.Path('/sys/fs/cgroup/memory' + line.split(':')[2].strip(), 'inside')
group.mkdir()
(group / 'memory.limit_in_bytes').write_text(sys.argv[1])
if os.fork() == 0:
    (group / 'cgroup.procs').write_text(str(os.getpid()))
    held = b'x' * (3 * int(sys.argv[1]))
    os._exit(0)
os.wait()
while group.exists():
    try:
        group.rmdir()
    except OSError:
        time.sleep(0.01)
"""


@pytest.mark.slow
@needs_group
def test_tree_above_the_limit_is_killed_as_a_whole(watched):
    # The kernel kills only the worker, and its parent would wait for ever.
    record = watched(WORKER_TAKES, "300000000", "1", memory_limit_bytes=100_000_000)
    assert record["outcome"] == "killed_at_limit"
    assert record["completed_work"] is False
    assert record["signal"] == "SIGKILL"
    assert record["left_running"] == []
    assert 90e6 < record["peak"]["cgroup_bytes"] <= 100_000_000
    request = request_of(record)
    assert request.at_least and 100_000_000 < request.request_bytes < 102_000_000


@pytest.mark.slow
@needs_group
@pytest.mark.skipif(bool(os.geteuid()) or machine.cgroup_version() != 1, reason="makes a group of v1, as root")
def test_kill_by_a_group_inside_of_ours_makes_the_request_a_lower_bound(watched):
    record = watched(KILLED_INSIDE, str(60_000_000))
    assert (record["outcome"], record["exit_status"]) == ("completed", 0)
    assert request_of(record).at_least


@needs_group
def test_no_group_is_left_behind(watched, monkeypatch):
    made = []
    make = groups.make
    monkeypatch.setattr(groups, "make", lambda *limit: made.append(make(*limit)) or made[-1])
    watched("pass", memory_limit_bytes=100_000_000)
    assert made
    assert not any(group.path.exists() for group in made)


def test_without_a_group_a_limit_is_refused_before_the_run(tmp_path, monkeypatch):
    def none(limit_bytes=None):
        raise groups.GroupError("the memory controller is not delegated to us")

    monkeypatch.setattr(groups, "make", none)
    ran = tmp_path / "ran"
    with pytest.raises(LimitError, match=r"^no memory limit can be set here: the memory controller is not delegated"):
        watch([*PYTHON, f"open({str(ran)!r}, 'w')"], tmp_path / "out", WatchOptions(memory_limit_bytes=10**8))
    assert not ran.exists()


@pytest.mark.slow
def test_user_without_rights_gets_one_line_but_can_watch(ordinary):
    command = [*ordinary, "-m", "beyond_ram", "watch"]
    (line,) = called(*command, "--memory-limit", "1G", "--", "true", status=2).splitlines()
    assert line.startswith("beyond-ram: no memory limit can be set here: ")
    assert "cgroup      none" in called(*command, "--", "sh", "-c", "sleep 0.5; exit 3", status=3)


def test_ending_process_is_not_left_running(sleeping):
    ending, living = sleeping(), sleeping()
    threading.Timer(0.2, ending.kill).start()
    assert ends_by(time.monotonic() + 10, ending.pid)
    assert not ends_by(time.monotonic() + 0.1, living.pid)
