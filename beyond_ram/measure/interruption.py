"""A run that is killed between two shards, then the same command again."""

import os
import signal
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..watch import WatchOptions
from .cell import MeasuringError, ProgramError, Setting, check_end, finish, prepare, run_once
from .private import private_folder


def measure_interrupted(interrupted: Setting, rerun: Setting, runs: Path) -> None:
    """Measure a cold run that is killed after `stop_after` shards, then the same command in the same folder.

    Raises ProgramError if the run ended before the kill, MeasuringError if it was ended from outside or survived the
    kill.
    """
    path, stop_after = interrupted.job.path, interrupted.job.stop_after
    with private_folder(interrupted.work, path) as work:
        shards_done = 0

        def kill_in_time(event: dict[str, Any], pid: int) -> None:
            nonlocal shards_done
            shards_done += event["event"] == "shard"
            if event["event"] == "shard" and shards_done == stop_after:
                os.killpg(pid, signal.SIGKILL)

        prepare(interrupted, work)
        record = run_once(interrupted, work, runs / path, WatchOptions(new_session=True, on_event=kill_in_time))
        if record["signal"] != "SIGKILL" or shards_done != stop_after:
            check_end(interrupted.job, record)
            raise ProgramError(
                f"{path}: to be killed after {stop_after} shards, it ended after {shards_done} "
                f"with status {record['exit_status']}, signal {record['signal']}"
            )
        _assert_group_is_dead(record["pid"], path)
        record["outcome"] = "interrupted_on_purpose"
        finish(interrupted, work, runs / path, record)
        out, rerun = runs / rerun.job.path, replace(rerun, began=time.monotonic())
        finish(rerun, work, out, run_once(rerun, work, out))


def _assert_group_is_dead(group: int, path: str) -> None:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    raise MeasuringError(f"{path}: process group {group} outlived its kill")
