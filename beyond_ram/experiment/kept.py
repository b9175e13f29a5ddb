"""Results kept from before an upgrade of a stack, declared in results/kept.json.

`beyond-ram stack upgrade NAME` moves the runs of the old lock from `stack~NAME` to `stack~NAME@LOCK`, where LOCK is the
old version of what moved (`tokenizers-0.23.3`), else the start of the lock's SHA-256. From then on they are declared
inputs of every table and figure. The old lock is kept beside them, so that it can be measured again. `beyond-ram stack
prune` removes all but the newest locks of a stack, with their runs.
"""

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..files import DamagedError, write
from ..text import plain
from . import records
from .grammar import parse
from .load import ConfigError
from .paths import STACK, Cell
from .places import is_results

FILE, LOCKS = "kept.json", "locks"
_NAME = re.compile(rf"{STACK}@[a-z0-9][a-z0-9._-]*")


def read(results: Path | str) -> list[str]:
    """The folders of all kept runs, relative to the folder of runs.

    Raises ConfigError if kept.json is invalid.
    """
    return [run for runs in _map(results).values() for run in runs]


def locks(results: Path | str) -> dict[str, str]:
    """The locks of all kept stacks, by name, without those that somebody removed."""
    names = {str(parse(run)["stack"]) for run in read(results)}
    files = {name: Path(results, LOCKS, f"{name}.txt") for name in sorted(names)}
    return {name: str(file) for name, file in files.items() if file.exists()}


def _name_of(results: Path | str, stack: str, lock: bytes, moved: str) -> str:
    """The name of a stack's kept runs with this lock: the one that it has, else by what moved, else by its digest."""
    digest = hashlib.sha256(lock).hexdigest()[:8]
    for name, file in locks(results).items():
        if name.partition("@")[0] == stack and Path(file).read_bytes() == lock:
            return name
    label = re.sub(r"[^a-z0-9._-]+", "-", moved.lower())
    if not label:
        return f"{stack}@{digest}"
    taken = Path(results, LOCKS, f"{stack}@{label}.txt").exists()
    return f"{stack}@{label}-{digest}" if taken else f"{stack}@{label}"


def check(results: Path, stack: str, lock: bytes) -> None:
    """Raise ConfigError unless a folder is a results folder with runs of this stack and lock.

    Otherwise a new lock would make the next snakemake remove runs that are in another results folder.
    """
    read(results)
    others_with_runs = [path for path in _beside(results) if next(runs_of(path, stack, lock), None)]
    others = f"; {' and '.join(map(str, others_with_runs))} has some" if others_with_runs else ""
    if not is_results(results):
        raise ConfigError(f"{results}: no results folder{others}; give another with --results, or --no-results")
    if next(runs_of(results, stack, lock), None) is None:
        raise ConfigError(
            f"{results}: no runs of stack {stack} with the lock that it has now{others}; give another folder with "
            "--results, or --no-results"
        )


def _beside(results: Path) -> list[Path]:
    """Other results folders beside one."""
    folder = results.parent
    folders = sorted(folder.iterdir()) if folder.is_dir() else []
    return [path for path in folders if path.is_dir() and path != results and is_results(path)]


def runs_of(
    results: Path | str, stack: str, lock: bytes, *, warn: bool = False
) -> Iterator[tuple[Cell, dict[str, Any]]]:
    """The runs of a stack that were measured with one lock: cell and record of each.

    The only search for runs in the project, because a run may come from any config; `keep` declares the runs. A damaged
    run is no result, whichever its lock: it stays in place, and is reported if `warn`.
    """
    lock_sha256 = hashlib.sha256(lock).hexdigest()
    runs = Path(results, "runs")
    for experiment in sorted(runs.iterdir()) if runs.is_dir() else []:
        for run_json in sorted((experiment / f"stack~{stack}").rglob("run.json")):
            try:
                record = records.record(run_json.parent)
            except DamagedError as error:
                print(f"not kept: {error}", file=sys.stderr) if warn else None
                continue
            if record["provenance"].get("lock_sha256") == lock_sha256:
                yield parse(run_json.parent.relative_to(runs).as_posix()), record


def keep(results: Path | str, stack: str, lock: bytes, moved: str = "") -> tuple[str, list[str]]:
    """Keep the runs of a stack that were measured with one lock, and the lock; return their name and their new folders.

    `moved` is the old version of what the upgrade moved, as `tokenizers-0.23.3`. Raises ConfigError if kept.json is
    invalid.
    """
    read(results)  # fail before anything moves
    runs, name = Path(results, "runs"), _name_of(results, stack, lock, moved)
    folders = []
    for cell, record in runs_of(results, stack, lock, warn=True):
        source, kept_cell = runs / cell.path, cell.replace(stack=name)
        record["cell"]["stack"] = name
        target = runs / kept_cell.path
        target.mkdir(parents=True, exist_ok=True)
        for file in source.iterdir():
            if file.name != "run.json":
                file.replace(target / file.name)
        write(target / "run.json", json.dumps(record, indent=2) + "\n")
        (source / "run.json").unlink()
        folders.append(kept_cell.path)
    if folders:
        Path(results, LOCKS).mkdir(exist_ok=True)
        write(Path(results, LOCKS, f"{name}.txt"), lock)
        runs_by_stack = _map(results)
        earlier = runs_by_stack.pop(name, [])  # at the end: the file lists them in the order of keeping
        _write(results, runs_by_stack | {name: sorted({*earlier, *folders})})
    return name, folders


def prune(results: Path | str, keep: int, stack: str | None = None) -> dict[str, int]:
    """Remove kept runs of each stack, or of one, except those of the last `keep` locks.

    Returns the number of removed runs by NAME@LOCK. Raises ConfigError if the folder is no results folder, or kept.json
    is invalid.
    """
    runs_by_stack = _map(results)
    if not runs_by_stack and not is_results(Path(results)):
        raise ConfigError(f"{results}: no results folder; give another with --results")
    by_stack: dict[str, list[str]] = {}
    for name in runs_by_stack:
        by_stack.setdefault(name.partition("@")[0], []).append(name)
    old = [
        name
        for one, names in by_stack.items()
        if stack in (None, one)
        for name in names[: len(names) - keep if keep else None]
    ]
    # Remove them from the map first: a declared but missing run would stop every table.
    _write(results, {name: runs for name, runs in runs_by_stack.items() if name not in old}) if old else None
    runs = Path(results, "runs")
    for name in old:
        for path in runs_by_stack[name]:
            _remove(runs, runs / parse(path).path)
        Path(results, LOCKS, f"{name}.txt").unlink(missing_ok=True)
    return {name: len(runs_by_stack[name]) for name in old}


def _map(results: Path | str) -> dict[str, list[str]]:
    """The runs by NAME@LOCK. Raises ConfigError for other content."""
    path = Path(results, FILE)
    without = "; delete it to do without kept runs"
    try:
        runs_by_stack = json.loads(path.read_bytes().decode()) if path.exists() else {}
    except (ValueError, RecursionError):
        raise ConfigError(f"{path}: no JSON, or cut{without}") from None
    if not isinstance(runs_by_stack, dict) or not all(isinstance(runs, list) for runs in runs_by_stack.values()):
        raise ConfigError(f"{path}: not a map from NAME@LOCK to lists of runs{without}")
    for name, runs in runs_by_stack.items():
        if not _NAME.fullmatch(name):
            raise ConfigError(f"{path}: {plain(repr(name), 100)} is not the NAME@LOCK of a stack{without}")
        for run in runs:
            if not _is_run(run, name):
                raise ConfigError(
                    f"{path}: {plain(repr(run), 200)} is not a run's folder of {plain(name, 100)}{without}"
                )
    return runs_by_stack


def _is_run(run: Any, stack: str) -> bool:
    try:
        cell = parse(run) if isinstance(run, str) else None
        return cell is not None and (cell.path, cell.get("stack")) == (run, stack)
    except ValueError:
        return False


def _write(results: Path | str, runs_by_stack: dict[str, list[str]]) -> None:
    write(Path(results, FILE), json.dumps(runs_by_stack, indent=2) + "\n")


def _remove(runs: Path, folder: Path) -> None:
    """Remove the files of a run, and the empty folders above it."""
    if not folder.is_dir() or not folder.resolve().is_relative_to(runs.resolve()):
        return
    for file in folder.iterdir():
        if not file.is_dir():
            file.unlink()
    while folder != runs and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
