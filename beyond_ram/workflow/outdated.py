"""What no longer shows what is there: collected runs whose folders have changed, and a report that a call makes again.

Such a report gets another name when the call begins, so that none stands under its name, however the call ends.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from snakemake.logging import logger

from ..files import DamagedError, read_json, write
from ..records.run_files import RUN_FILES

EDITED: Final = "edited"
"""In place of the digest of a run's code, if a file that the run imported has another content."""


class Stamp(NamedTuple):
    """What a record and the files beside it were when they were collected."""

    files: list[list[Any] | None]
    """Size, time and SHA-256 of each file of the run; None for a missing one."""
    code: str | None
    """The digest of the code and lock of its run, or EDITED."""


def write_stamps(records: Iterable[str], runs: str, file: str) -> None:
    """Write the stamps of those records that exist, by their paths in the folder of all runs."""
    stamps = {
        record.removeprefix(f"{runs}/"): ([_stamp(path) for path in _files(record)], *_provenance(record))
        for record in records
        if _stat(record)
    }
    write(file, json.dumps(stamps) + "\n")


def _files(record: str) -> list[str]:
    """A record, and the other files of its run."""
    return [record, *(str(Path(record).with_name(name)) for name in RUN_FILES[:2])]


def _stamp(file: str) -> list[Any] | None:
    stat = _stat(file)
    return [*stat, hashlib.sha256(Path(file).read_bytes()).hexdigest()] if stat else None


def stamps(file: str) -> dict[str, Stamp]:
    """The stamps in a file; none if it is missing or damaged."""
    try:
        return {record: Stamp(of, _present(*code)) for record, (of, *code) in read_json(file).items()}
    except (DamagedError, AttributeError, TypeError, ValueError):
        return {}


def changed(runs: str, stamps: Mapping[str, Stamp]) -> dict[str, str | None]:
    """The records with another content than their stamp, or beside a file with another content, with the digest of
    their code; missing ones do not count.

    Snakemake does not notice new content with an older time, as after `rsync -a`.
    """
    paths = {record: f"{runs}/{record}" for record in stamps}
    return {
        record: code_of(path)
        for record, path in paths.items()
        if _stat(path) and any(map(_differs, _files(path), stamps[record].files))
    }


def _differs(file: str, stamp: Sequence[Any] | None) -> bool:
    """Whether a file has another content than its stamp; a missing one has not, because it is made again."""
    stat = _stat(file)
    if stat is None or stamp is None:
        return False
    return [*stat] != stamp[:2] and hashlib.sha256(Path(file).read_bytes()).hexdigest() != stamp[2]


def code_of(record: str) -> str | None:
    """The digest of the code of a run, from its record, or EDITED; None if it is missing or has none."""
    return _present(*_provenance(record)) if _stat(record) else None


def _provenance(record: str) -> tuple[str | None, dict[str, str]]:
    """The digests of a run's code and of the files that it imported; none of a missing or damaged record."""
    try:
        provenance = read_json(record)["provenance"]
        return provenance.get("code_sha256"), provenance.get("imported_sha256", {})
    except (DamagedError, KeyError, TypeError, AttributeError):
        return None, {}


def _present(code: str | None, imported: Mapping[str, str]) -> str | None:
    return EDITED if any(_is_other(*one) for one in imported.items()) else code


@cache
def _is_other(file: str, digest: str) -> bool:
    """Whether a file has another SHA-256, or is gone; without its folder it may be of the machine of the run."""
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest() != digest
    except OSError:
        return not Path(file).is_absolute() or Path(file).parent.is_dir()


def _stat(file: str) -> tuple[int, int] | None:
    """Size and time of a file; None if it is missing."""
    try:
        status = Path(file).stat()
    except FileNotFoundError:
        return None
    return status.st_size, status.st_mtime_ns


def set_aside(workflow: Any, files: Sequence[str], rests_on: Callable[[str], bool]) -> None:
    """Rename a report if the call makes it, or a file that it rests on.

    With `--touch` outputs stay as they are.
    """
    if not workflow.touch and any(path in files or rests_on(path) for path in _planned(workflow)):
        for file in files:
            if Path(file).exists():
                Path(file).replace(_aside(file))


def clear(files: Sequence[str]) -> None:
    """Remove renamed files that were made again."""
    for file in files:
        if Path(file).exists():
            _aside(file).unlink(missing_ok=True)


def log_name(files: Sequence[str]) -> None:
    """Log the name of a report that is out of date."""
    if _aside(files[0]).exists():
        logger.warning(f"{files[0]} was not made again; the report from before is {_aside(files[0])}")


def log_findings(workflow: Any, brief: str) -> None:
    """Log the lines of file `brief`, if the call has made it."""
    if brief in _planned(workflow):
        logger.info(Path(brief).read_text(encoding="utf-8").rstrip())


def _planned(workflow: Any) -> set[str]:
    """The outputs of all jobs of this call, whether or not they have finished."""
    return {str(path) for job in workflow.dag.needrun_jobs(exclude_finished=False) for path in job.output}


def _aside(file: str) -> Path:
    path = Path(file)
    return path.with_name(f"{path.stem}-out-of-date{path.suffix}")
