"""How exact the instrument is on cgroup v2, and what a killed one leaves behind."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from beyond_ram.memory_request import request_of
from beyond_ram.watch import procfs

from ...watch import requested
from . import common
from .common import BEYOND_RAM, MB, PROJECT, ROOT_GROUP, groups_of_ours, made, run, wait_until, watch

PLACE = "plain"
# The guest is emulated: starting and ending children takes more CPU time than the tolerance allows.
SLOW = {"CPU seconds"}
# Programs whose readings depend on how the kernel counts, with 20 short-lived children: 80 are slow in a guest.
SELF_TEST = f"""
import dataclasses, sys
sys.path.insert(0, {str(PROJECT)!r})
from beyond_ram.watch import calibration
calibration.CASES = [
    dataclasses.replace(case, arguments=[case.arguments[0], "20"]) if case.program == "short" else case
    for case in calibration.CASES if case.program not in ("execs", "outlives")
]
sys.exit(calibration.self_test())
"""
KILLS = 4
SUBSET = ("written to /dev/shm", "8 forks, a tenth copied", "heavy page cache", "SQLite on disk")
"""The programs of an ordinary run. With REQUESTS in the environment all programs run, for minutes."""


def case_self_test():
    """Every reading is within its tolerance, except those that the slow guest explains."""
    done = run([sys.executable, "-c", SELF_TEST])
    print(done.stdout)
    readings = [line for line in done.stdout.splitlines() if re.search(r"  (yes|NO \()", line)]
    off = [line for line in readings if "  NO (" in line]
    assert len(readings) > 20
    assert not [line for line in off if not any(name in line for name in SLOW)], off
    return {"readings": len(readings), "off": len(off)}


def case_readings_of_pss_cover_all_memory():
    """The kernel may skip a mapping while the program maps memory."""
    size, words = 50 * MB, "held = bytearray(b'x') * {}\nprint(flush=True)\nwhile True: mmap.mmap(-1, 1 << 20).close()"
    with subprocess.Popen([*common.PYTHON, "import mmap; " + words.format(size)], stdout=subprocess.PIPE) as program:
        assert program.stdout and program.stdout.readline()
        raw, checked = [], []
        while len(checked) < 100:
            raw.append(procfs.parse_proportional(procfs.read(program.pid, "smaps_rollup") or b"")[0])
            checked.append(procfs.proportional(program.pid))
        program.kill()
    assert all(one and (one.pss_bytes > size or not one.complete) for one in checked)
    complete = sum(one.complete for one in checked if one)
    assert complete > 0.5 * len(checked)
    return {"readings": len(raw), "skipped": sum(one.pss_bytes < size for one in raw), "complete": complete}


def case_programs_complete_under_the_advised_limit():
    """Each program completes in a group whose limit is exactly its request."""
    programs = requested.programs(smaller=5)
    chosen = [(one.name, one.command) for one in programs if "REQUESTS" in os.environ or one.name in SUBSET]
    with made("measured") as measured, made("asked") as limited, ThreadPoolExecutor(3) as pool:
        results = list(pool.map(lambda program: _run_under_advised_limit(measured, limited, *program), chosen))
    for name, request_bytes, status, kills in results:
        print(f"{name}: {request_bytes / 1e6:,.0f} MB, status {status}, {kills} killed")
    assert len(results) >= (30 if "REQUESTS" in os.environ else len(SUBSET))
    assert not [name for name, _, status, kills in results if status or kills]
    return {"programs": len(results)}


def _run_under_advised_limit(measured, limited_parent, name, words):
    own, limited = (parent / name.replace(" ", "-").replace("/", "-") for parent in (measured, limited_parent))
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    for group in (own, limited):
        (group.parent / "cgroup.subtree_control").write_text("+memory")
        group.mkdir()
    command = [word.replace("{folder}", str(folder)) for word in words]
    followed = watch("--follow", "--", *command, group=own)
    assert followed.status == 0, f"{name}: {followed.stderr}"
    request_bytes = request_of(followed.record).request_bytes
    (limited / "memory.max").write_text(str(request_bytes))
    (limited / "memory.swap.max").write_text("0")
    done = run(command, limited)
    print(done.stderr[-300:])
    events = dict(line.split() for line in (limited / "memory.events").read_text().splitlines())
    shutil.rmtree(folder)
    result = name, request_bytes, done.returncode, int(events["oom_kill"])
    print(*result, file=sys.stderr, flush=True)  # on the guest's console, at once
    return result


def case_random_kills_leave_no_group():
    """The watcher is killed at any moment, alone in a group and in the root group."""
    chosen = random.Random(28)
    with made("kills") as parent:
        (parent / "cgroup.subtree_control").write_text("+memory")

        def killed(number):
            group = parent / str(number)
            group.mkdir()
            words = [*BEYOND_RAM, "watch", "--memory-limit", "1G", "--", "sh", "-c", "sleep 100 & sleep 100"]
            joined = common.joining(group if number % 2 else None)
            running = subprocess.Popen(words, preexec_fn=joined, stderr=subprocess.DEVNULL)
            time.sleep(chosen.uniform(0.3, 4.0))
            running.send_signal(signal.SIGKILL)
            running.wait()
            return running.returncode

        with ThreadPoolExecutor(4) as pool:
            statuses = list(pool.map(killed, range(KILLS)))
        assert statuses == [-signal.SIGKILL] * KILLS
        gone = wait_until(lambda: not groups_of_ours())
        left = groups_of_ours()
        # After a kill between making a group and starting the guard, the next run in the same place removes the group.
        for group in {Path(folder).parent for folder in left}:
            if group != ROOT_GROUP:
                (group / "cgroup.subtree_control").write_text("-memory")
            assert watch("--memory-limit", "1G", "--", "true", group=group).status == 0
        assert not groups_of_ours()
    return {"kills": KILLS, "left_for_the_next_run": 0 if gone else len(left)}
