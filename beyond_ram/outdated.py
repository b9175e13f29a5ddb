"""What no longer shows what is there: collected runs whose folders have changed, and a report that a call makes again.

Such a report gets another name when the call begins, so that none stands under its name, however the call ends.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from snakemake.logging import logger

from .files import DamagedError, read_json, write


def write_stamps(files: Iterable[str], stamps: str) -> None:
    """Write the size, time and SHA-256 of those files that exist, for `changed`."""
    write(stamps, json.dumps({file: [*stat, _sha256(file)] for file in files if (stat := _stat(file))}) + "\n")


def changed(files: Iterable[str], stamps: str) -> bool:
    """Whether the content of a file differs from its stamp; missing files, and files without a stamp, do not count.

    Snakemake does not notice new content with an older time, as after `rsync -a`.
    """
    try:
        before = read_json(stamps)
        return any(_differs(file, *before[file]) for file in files if file in before)
    except (DamagedError, TypeError):
        return Path(stamps).exists()


def _differs(file: str, size: int, mtime_ns: int, sha256: str) -> bool:
    stat = _stat(file)
    return stat not in ([], [size, mtime_ns]) and _sha256(file) != sha256


def _stat(file: str) -> list[int]:
    """Size and time of a file; nothing if it is missing."""
    try:
        status = Path(file).stat()
    except FileNotFoundError:
        return []
    return [status.st_size, status.st_mtime_ns]


def _sha256(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def set_aside(workflow: Any, files: Sequence[str], rests_on: Callable[[str], bool]) -> None:
    """Rename a report if the call makes it, or a file that it rests on.

    With `--touch` outputs stay as they are.
    """
    planned = {str(path) for job in workflow.dag.needrun_jobs() for path in job.output}
    if not workflow.touch and any(path in files or rests_on(path) for path in planned):
        for file in files:
            if Path(file).exists():
                Path(file).replace(_aside(file))


def clear(files: Sequence[str]) -> None:
    """Remove renamed files that were made again."""
    for file in files:
        if Path(file).exists():
            _aside(file).unlink(missing_ok=True)


def tell(files: Sequence[str]) -> None:
    """Log under which name a report is out of date."""
    if _aside(files[0]).exists():
        logger.error(f"{files[0]} was not made again; the earlier report is {_aside(files[0])}")


def _aside(file: str) -> Path:
    path = Path(file)
    return path.with_name(f"{path.stem}-out-of-date{path.suffix}")
