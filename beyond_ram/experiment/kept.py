"""Results kept from before an upgrade of a stack, declared in results/kept.json.

`beyond-ram stack upgrade NAME` moves the runs of the old lock from `stack~NAME` to `stack~NAME@LOCK`, LOCK being the
first eight digits of the old lock's SHA-256. From then on they are declared inputs of every table and figure. The old
lock is kept beside them, so that it can be weighed again.
"""

import hashlib
import json
import sys
from pathlib import Path

from ..files import DamagedError, whole
from . import records
from .grammar import parse
from .load import ConfigError

FILE, LOCKS = "kept.json", "locks"


def read(results: Path | str) -> list[str]:
    """The folders of all kept runs, relative to the folder of runs.

    Raises ConfigError for a file that is no such map.
    """
    path = Path(results, FILE)
    if not path.exists():
        return []
    try:
        return [run for runs in json.loads(path.read_text(encoding="utf-8")).values() for run in runs]
    except (ValueError, AttributeError, TypeError):
        raise ConfigError(
            f"{path}: not a map from NAME@LOCK to lists of runs; delete it to do without kept runs"
        ) from None


def locks(results: Path | str) -> dict[str, str]:
    """The lock of every kept stack that has one; runs that were kept by earlier versions have none."""
    names = {str(parse(run)["stack"]) for run in read(results)}
    files = {name: Path(results, LOCKS, f"{name}.txt") for name in sorted(names)}
    return {name: str(file) for name, file in files.items() if file.exists()}


def keep(results: Path | str, stack: str, lock: bytes) -> list[str]:
    """Keep the runs of a stack that were measured with one lock, and the lock; return their new folders.

    This is the one place that looks for runs, because a run may come from any config; what it finds, it declares. A
    damaged run is no result and stays where it is. Raises ConfigError where kept.json is no such map.
    """
    read(results)  # fail before anything moves
    lock_sha256 = hashlib.sha256(lock).hexdigest()
    runs, name = Path(results, "runs"), f"{stack}@{lock_sha256[:8]}"
    moved = []
    for experiment in sorted(runs.iterdir()) if runs.is_dir() else []:
        for run_json in sorted((experiment / f"stack~{stack}").rglob("run.json")):
            try:
                record = records.record(run_json.parent)
            except DamagedError as error:  # a damaged run is no result, whichever lock it had
                print(f"not kept: {error}", file=sys.stderr)
                continue
            if record["provenance"].get("lock_sha256") != lock_sha256:
                continue
            cell = parse(run_json.parent.relative_to(runs).as_posix()).replace(stack=name)
            record["cell"]["stack"] = name
            target = runs / cell.path
            target.mkdir(parents=True, exist_ok=True)
            for file in run_json.parent.iterdir():
                if file != run_json:
                    file.replace(target / file.name)
            with whole(target / "run.json") as partial:
                partial.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            run_json.unlink()
            moved.append(cell.path)
    if moved:
        with whole(Path(results, LOCKS, f"{name}.txt")) as partial:
            partial.parent.mkdir(exist_ok=True)
            partial.write_bytes(lock)
        path = Path(results, FILE)
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        known[name] = sorted({*known.get(name, []), *moved})
        with whole(path) as partial:
            partial.write_text(json.dumps(known, indent=2) + "\n", encoding="utf-8")
    return moved
