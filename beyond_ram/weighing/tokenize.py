"""Cells of the workload `tokenize`."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..experiment import Cell, parse
from ..stacks import lock_sha256
from ..watch import pagecache, watch, write_record
from .provenance import commit


class WeighingError(RuntimeError):
    """A cell that could not be weighed; the text is one line."""


@dataclass(frozen=True)
class Setting:
    """What a cell needs beside its parameters."""

    python: str
    """Interpreter of the cell's stack."""
    workload: Path
    corpus: Path
    lock: Path
    work: Path
    """Folder for private work folders, on the file system that shall be measured."""
    interval_ms: int = 20


def weigh(setting: Setting, runs: Path, path: str) -> None:
    """Weigh one `cold` or `warm` run into its folder below `runs`.

    A warm run comes after a complete one in the same private folder. Raises WeighingError where the run failed.
    """
    cell = parse(path)
    with _private_folder(setting, cell) as work:
        if cell["cache"] == "warm":
            primed = subprocess.run(_command(setting, cell, work), stdout=sys.stderr, check=False)
            if primed.returncode:
                raise WeighingError(f"{path}: the run before the warm one failed with status {primed.returncode}")
        _finish(setting, cell, work, runs / path, _weighed(setting, cell, work, runs / path))


def weigh_interrupted(setting: Setting, runs: Path, interrupted_path: str, rerun_path: str) -> None:
    """Weigh a cold run that is killed after `stop_after` shards, and the same command again in the same folder.

    Raises WeighingError where the run ended before it could be killed, outlived the kill, or the rerun failed.
    """
    interrupted, rerun = parse(interrupted_path), parse(rerun_path)
    stop_after = int(interrupted["stop_after"])
    with _private_folder(setting, interrupted) as work:
        shards_done = 0

        def kill_in_time(event: dict[str, Any], pid: int) -> None:
            nonlocal shards_done
            shards_done += event["event"] == "shard"
            if event["event"] == "shard" and shards_done == stop_after:
                os.killpg(pid, signal.SIGKILL)

        record = _weighed(setting, interrupted, work, runs / interrupted_path, new_session=True, on_event=kill_in_time)
        if record["signal"] != "SIGKILL" or shards_done != stop_after:
            raise WeighingError(
                f"{interrupted_path}: to be killed after {stop_after} shards, it ended after {shards_done} "
                f"with status {record['exit_status']}, signal {record['signal']}"
            )
        _assert_group_is_dead(record["pid"], interrupted_path)
        record["outcome"] = "interrupted_on_purpose"
        _finish(setting, interrupted, work, runs / interrupted_path, record)
        _finish(setting, rerun, work, runs / rerun_path, _weighed(setting, rerun, work, runs / rerun_path))


@contextlib.contextmanager
def _private_folder(setting: Setting, cell: Cell) -> Iterator[Path]:
    """A folder for one cell's cache and result: empty at the start, gone at the end."""
    folder = setting.work / cell.path
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        for parent in folder.parents:
            if parent == setting.work.parent or any(parent.iterdir()):
                break
            parent.rmdir()


def _command(setting: Setting, cell: Cell, work: Path) -> list[str]:
    flags = ("mode", "shards", "num_files", "batch_size", "writer_batch_size", "num_proc")
    options = [word for flag in flags for word in (f"--{flag.replace('_', '-')}", cell[flag])]
    program = [setting.python, str(setting.workload), "--corpus", str(setting.corpus), "--work-dir", str(work)]
    return program + options


def _weighed(setting: Setting, cell: Cell, work: Path, out: Path, **how: Any) -> dict[str, Any]:
    """Run the workload under the watcher; its input evicted first where the cell's cache is cold."""
    manifest = json.loads((setting.corpus / "manifest.json").read_text(encoding="utf-8"))
    chosen = [setting.corpus / entry["path"] for entry in manifest["files"][: int(cell["num_files"])]]
    if cell["cache"] in ("cold", "interrupted"):
        pagecache.evict(chosen)
    before = pagecache.resident_share(chosen)
    record = watch(
        _command(setting, cell, work), out, interval_ms=setting.interval_ms, stdout=sys.stderr.fileno(), **how
    )
    record["page_cache"] = {"input_resident_before": before, "input_resident_after": pagecache.resident_share(chosen)}
    return record


def _finish(setting: Setting, cell: Cell, work: Path, out: Path, record: dict[str, Any]) -> None:
    """Complete the record with the cell, the lock and the hash of the ids, and write it."""
    if record["completed_work"]:
        checked = subprocess.run([*_command(setting, cell, work), "--check"], stdout=subprocess.PIPE, check=False)
        if checked.returncode:
            raise WeighingError(f"{cell.path}: its ids could not be read back")
        record["work"] |= json.loads(checked.stdout)
    elif record["outcome"] == "failed":
        how = f"status {record['exit_status']}, signal {record['signal']}"
        raise WeighingError(f"{cell.path}: failed with {how}, before its work was done")
    record["cell"] = cell.parameters()
    record["provenance"] |= {"commit": commit(), "lock_sha256": lock_sha256(setting.lock.stem, setting.lock.parent)}
    write_record(record, out)


def _assert_group_is_dead(group: int, path: str) -> None:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    raise WeighingError(f"{path}: process group {group} outlived its kill")
