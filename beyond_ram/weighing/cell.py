"""One cell: a private folder, the cache state, the watcher around the workload, the record."""

import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..experiment import Cell, parse
from ..stacks import lock_sha256
from ..stacks import reason as cannot_be
from ..watch import RUN_FILES, LimitError, machine, pagecache, watch, write_record
from ..watch.recorder import COLUMNS
from . import remedies
from .provenance import commit

# Axes that say how a cell is weighed; all others are flags of the workload's program.
_NOT_FLAGS = {"stack", "corpus", "cache", "stop_after", "tokens", "page_cache"}


class WeighingError(RuntimeError):
    """A cell that could not be weighed; the text is one line."""


@dataclass(frozen=True)
class Setting:
    """What a cell needs beside its parameters."""

    workload: str
    python: str
    """Interpreter of the cell's stack."""
    program: Path
    lock: Path
    work: Path
    """Folder for private work folders, on the file system that shall be measured."""
    corpus: Path | None = None
    tokens: Path | None = None
    """Token dataset; limits in percent are of its bytes."""
    reads: Path | None = None
    """File or folder that the program reads, beside its corpus."""
    options: Sequence[str] = ()
    """What the program is told beside the cell's axes."""
    timeout_s: float | None = None
    prepare: bool = False
    """Whether the program is run with --prepare first, unweighed, to make what it will read."""
    check: bool = False
    """Whether the program is run with --check afterwards, unweighed, to say what came out."""
    interval_ms: int = 20


def weigh(setting: Setting, runs: Path, path: str) -> None:
    """Weigh one run into its folder below `runs`.

    A warm run comes after a complete one in the same private folder. Raises WeighingError where the run failed.
    """
    cell = parse(path)
    with private_folder(setting, cell) as work:
        prepare(setting, cell, work)
        finish(setting, cell, work, runs / path, weighed(setting, cell, work, runs / path))


@contextlib.contextmanager
def private_folder(setting: Setting, cell: Cell, below: str = "") -> Iterator[Path]:
    """A folder for one cell's cache and result: empty at the start, gone at the end."""
    folder = setting.work / below / cell.path
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


def prepare(setting: Setting, cell: Cell, work: Path) -> None:
    """Make what the run shall find: its input, and for a warm run the caches of a complete one."""
    if cannot_be(setting.lock):
        return
    first = [["--prepare"]] if setting.prepare else []
    first += [[]] if cell.get("cache") == "warm" else []
    for flags in first:
        done = subprocess.run([*command(setting, cell, work), *flags], stdout=sys.stderr, check=False)
        if done.returncode:
            raise WeighingError(f"{cell.path}: the run before it failed with status {done.returncode}")


def command(setting: Setting, cell: Cell, work: Path) -> list[str]:
    options = [w for axis, value in cell.axes if axis not in _NOT_FLAGS for w in (f"--{axis.replace('_', '-')}", value)]
    corpus = ["--corpus", str(setting.corpus)] if setting.corpus else []
    corpus += ["--tokens-dir", str(setting.tokens)] if setting.tokens else []
    return [setting.python, str(setting.program), *corpus, "--work-dir", str(work), *setting.options, *options]


def weighed(setting: Setting, cell: Cell, work: Path, out: Path, **how: Any) -> dict[str, Any]:
    """Run the workload under the watcher, its input evicted first where the cell's cache is cold."""
    inputs = _inputs(setting, cell, work)
    if cell.get("page_cache", cell.get("cache", "cold")) in ("cold", "interrupted"):
        pagecache.evict(inputs)
    elif cell.get("page_cache"):
        pagecache.fill(inputs)
    words = command(setting, cell, work)
    if reason := cannot_be(setting.lock):
        return _not_run(words, out, reason)
    try:
        environment = remedies.environment(cell.get("remedy", "none"))
    except remedies.NotHereError as reason:
        return _not_run(words, out, str(reason))
    limits = {"timeout_s": setting.timeout_s, "memory_limit_bytes": _limit_bytes(setting, cell)}
    how = limits | how | {"interval_ms": setting.interval_ms, "stdout": sys.stderr.fileno(), "inputs": inputs}
    try:
        return watch(words, out, environment=environment, **how)
    except LimitError as reason:
        if not limits["memory_limit_bytes"]:
            raise
        return _not_run(words, out, str(reason))


def _limit_bytes(setting: Setting, cell: Cell) -> int | None:
    """The hard limit that a cell is weighed under; None for none."""
    percent = int(cell.get("limit_percent", "0"))
    if not percent or not setting.tokens:
        return None
    described = json.loads((setting.tokens / "tokens.json").read_text(encoding="utf-8"))
    return int(described["bytes"] * percent / 100)


def _not_run(words: Sequence[str], out: Path, reason: str) -> dict[str, Any]:
    """The record of a cell that cannot be run here, and its files without a sample or event."""
    out.mkdir(parents=True, exist_ok=True)
    (out / RUN_FILES[0]).write_text(",".join(COLUMNS) + "\n", encoding="utf-8")
    (out / RUN_FILES[1]).write_text("", encoding="utf-8")
    record: dict[str, Any] = {"outcome": "not_applicable", "reason": reason, "completed_work": False}
    record |= dict.fromkeys(("exit_status", "signal", "duration_s", "cpu_s"))
    provenance = {"versions": {}, **machine.provenance({})}
    return record | {"command": list(words), "provenance": provenance, "work": {}, "peak": {}, "sampler": {}}


def _inputs(setting: Setting, cell: Cell, work: Path) -> list[Path]:
    """The files that the run will read: those of the corpus, and what was prepared."""
    prepared = _files(work) if setting.prepare else []
    prepared += _files(setting.reads) if setting.reads else []
    if not setting.corpus:
        return prepared
    manifest = json.loads((setting.corpus / "manifest.json").read_text(encoding="utf-8"))
    number = cell.get("num_files")
    return prepared + [setting.corpus / entry["path"] for entry in manifest["files"][: int(number) if number else None]]


def _files(place: Path) -> list[Path]:
    return [place] if place.is_file() else [path for path in sorted(place.rglob("*")) if path.is_file()]


def finish(
    setting: Setting,
    cell: Cell,
    work: Path,
    out: Path,
    record: dict[str, Any],
    last: Callable[[], None] = lambda: None,
) -> None:
    """Complete the record with the cell, the lock and what the check finds, do what comes `last`, and write it."""
    if record["outcome"] == "not_applicable":
        pass
    elif reason := _said(out, "not_applicable"):
        record |= {"outcome": "not_applicable", "reason": reason}
    elif record["completed_work"] and setting.check:
        checked = subprocess.run([*command(setting, cell, work), "--check"], stdout=subprocess.PIPE, check=False)
        if checked.returncode:
            raise WeighingError(f"{cell.path}: its ids could not be read back")
        record["work"] |= json.loads(checked.stdout)
    elif reason := _said(out, "gave_up"):
        record["reason"] = reason
    elif record["outcome"] == "failed" and not record["completed_work"]:
        how = f"status {record['exit_status']}, signal {record['signal']}"
        if record.get("killed_for_memory"):
            how = "SIGKILL for want of memory: this job, or the machine, has too little"
        raise WeighingError(f"{cell.path}: failed with {how}, before its work was done")
    record["workload"], record["cell"] = setting.workload, cell.parameters()
    record["provenance"] |= {"commit": commit(), "lock_sha256": lock_sha256(setting.lock.stem, setting.lock.parent)}
    last()
    write_record(record, out)


def _said(out: Path, event_name: str) -> str | None:
    """The reason that a program gave in an event: for having nothing to do in this cell, or for giving up."""
    for line in (out / "events.jsonl").read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["event"] == event_name:
            return str(event["reason"])
    return None
