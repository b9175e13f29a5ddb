"""Whether what a run needs is still as it was made: its interpreter starts, and no file of its data was cut.

Sizes alone are looked at: to read the data would bring it into the page cache.
"""

from pathlib import Path
from typing import Any

from ..experiment import Job
from ..files import DamagedError, read_json
from . import processes


def check_interpreter(python: str) -> None:
    """Raise DamagedError where the interpreter of a stack does not start."""
    try:
        status, _ = processes.run([python, "-I", "-S", "-c", ""])
        why = f"it ends with {processes.ending(status)}" if status else ""
    except OSError as error:
        why = str(error.strerror)
    if why:
        raise DamagedError(
            f"{python}: the interpreter of this stack cannot be run: {why}; delete the folder of its environment, and "
            "Snakemake builds it again"
        )


def check_data(job: Job) -> None:
    """Raise DamagedError where a file of a run's corpus or repository has another size than when it was made."""
    if job.corpus:
        manifest = Path(job.corpus, "manifest.json")
        for entry in read_json(manifest, "files")["files"]:
            path, size = Path(job.corpus, str(entry["path"])), entry.get("file_bytes")
            if size is not None and (there := path.stat().st_size if path.is_file() else None) != size:
                raise _other(path, there, size, manifest)
    if job.served:
        folder = Path(job.served.repository)
        manifest = folder / "manifest.json"
        said: dict[str, Any] = read_json(manifest)
        if isinstance(said, dict) and said.get("bytes") is not None:
            files = [path for path in (folder / "datasets").rglob("*") if path.is_file() and path.suffix != ".md"]
            if (there := sum(path.stat().st_size for path in files)) != said["bytes"]:
                raise _other(folder / "datasets", there, said["bytes"], manifest)


def _other(path: Path, there: int | None, size: Any, manifest: Path) -> DamagedError:
    has = "missing" if there is None else f"{there} bytes"
    return DamagedError(f"{path}: {has}, and it was made with {size}; delete {manifest}, and Snakemake makes it again")
