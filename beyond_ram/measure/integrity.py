"""Checks before a run: its interpreter starts, and no file of its packages or data is truncated.

Only sizes are checked: reading the data would bring it into the page cache.
"""

import hashlib
import importlib.metadata
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from ..experiment import Job
from ..files import DamagedError, read_json
from ..stacks.venv import MARKER
from . import processes

CHANGED: Final = "changed"
"""In place of a file's digest, which it never equals, so the run is made again."""


def check_interpreter(python: str) -> None:
    """Raise DamagedError if the interpreter of a stack does not start."""
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


def check_packages(python: str) -> None:
    """Raise DamagedError if the size of a package file has changed since it was installed.

    Only for environments built here: conda packages have no such records. A damaged package is an error even if it is
    not needed, because a run might silently do without it and measure something else.
    """
    folder = Path(python).absolute().parents[1]
    if not (folder / MARKER).is_file():
        return
    for packages in folder.glob("lib/python*/site-packages"):
        for record in packages.glob("*.dist-info/RECORD"):
            for line in record.read_text(encoding="utf-8").splitlines():
                name, _, size = line.rpartition(",")
                name = name.rpartition(",")[0]
                # Building compiles every package, even if its wheel contains bytecode.
                if size and not name.startswith('"') and not name.endswith(".pyc"):
                    _check_size(packages, name, int(size), folder)


def check_imports(python: str, events: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The versions of the packages that a run imported from its environment.

    Raises DamagedError if the run imported a module of a package of its environment from somewhere else.
    """
    event = next((one for one in events if one["event"] == "imports"), None)
    if event is None:
        return {}
    versions, tops = dict[str, str](), dict[str, str]()
    for packages in Path(python).parents[1].glob("lib/python*/site-packages"):
        for described in importlib.metadata.distributions(path=[str(packages)]):
            name = described.metadata["Name"]
            versions[name] = described.version
            tops |= {str(file).partition("/")[0].partition(".")[0]: name for file in described.files or ()}
    for module, file in event["modules_from_elsewhere"].items():
        if module in tops:
            raise DamagedError(
                f"the run imported {module} from {file}, not from its environment ({tops[module]} "
                f"{versions[tops[module]]}); rename that, or take it off the import path"
            )
    return {tops[module]: versions[tops[module]] for module in event["modules"] if module in tops}


def imported_files(events: Iterable[Mapping[str, Any]], folder: Path, script: Path, since: float) -> dict[str, str]:
    """The SHA-256 of each file that a script imported from elsewhere than its environment, or of the archive that it is
    in, by its path: as it was named, and below the current folder a relative one.

    `folder` is where the script ran, which links to the neighbours of `script`; a name in it is that of a neighbour.
    A file that changed `since` the run began gets CHANGED: which content was imported is unknown.
    """
    event = next((one for one in events if one["event"] == "imports"), None)
    ran, here = os.path.realpath(folder) + os.sep, os.getcwd() + os.sep  # noqa: PTH109
    digests = {}
    for name in event["modules_from_elsewhere"].values() if event else ():
        named = os.path.abspath(name)  # noqa: PTH100 (no link is resolved)
        path = script.absolute().parent / named.removeprefix(ran) if named.startswith(ran) else Path(named)
        if file := next((one for one in (path, *path.parents) if one.is_file()), None):
            digest = CHANGED if file.stat().st_ctime > since else hashlib.sha256(file.read_bytes()).hexdigest()
            digests[str(file).removeprefix(here)] = digest
    return dict(sorted(digests.items()))


def imported(python: str, package: str, events: Iterable[Mapping[str, Any]]) -> bool | None:
    """Whether a run imported a module of a package of its environment; None if that cannot be seen."""
    event = next((one for one in events if one["event"] == "imports"), None)
    places = Path(python).parents[1].glob("lib/python*/site-packages")
    described = importlib.metadata.distributions(name=package, path=[str(place) for place in places])
    # Parts of a namespace package have no module of their own at the top.
    modules = {
        file.parts[0].partition(".")[0]
        for one in described
        for file in one.files or ()
        if file.suffix in (".py", ".so") and (len(file.parts) == 1 or file.parts[1:] == ("__init__.py",))
    }
    return None if event is None or not modules else not modules.isdisjoint(event["modules"])


def _check_size(packages: Path, name: str, size: int, folder: Path) -> None:
    try:
        actual: int | None = os.stat(f"{packages}/{name}").st_size  # noqa: PTH116 (thousands of them)
    except OSError:
        actual = None
    if actual != size:
        has = "missing" if actual is None else f"{actual} bytes"
        raise DamagedError(
            f"{packages}/{name}: {has}, and it was installed with {size}; delete {folder}, and Snakemake "
            "builds it again"
        )


def check_data(job: Job) -> None:
    """Raise DamagedError if the size of a file in a run's corpus or repository has changed since it was made."""
    if job.corpus:
        manifest = Path(job.corpus, "manifest.json")
        for entry in read_json(manifest, "files")["files"]:
            path, size = Path(job.corpus, str(entry["path"])), entry.get("file_bytes")
            if size is not None and (actual := path.stat().st_size if path.is_file() else None) != size:
                raise _other(path, actual, size, manifest)
    if job.served:
        folder = Path(job.served.repository)
        manifest = folder / "manifest.json"
        described: dict[str, Any] = read_json(manifest)
        if isinstance(described, dict) and described.get("bytes") is not None:
            files = [path for path in (folder / "datasets").rglob("*") if path.is_file() and path.suffix != ".md"]
            if (actual := sum(path.stat().st_size for path in files)) != described["bytes"]:
                raise _other(folder / "datasets", actual, described["bytes"], manifest)


def _other(path: Path, actual: int | None, size: Any, manifest: Path) -> DamagedError:
    has = "missing" if actual is None else f"{actual} bytes"
    return DamagedError(f"{path}: {has}, and it was made with {size}; delete {manifest}, and Snakemake makes it again")
