"""Paths of a config: which are valid, and where results may go.

A path may contain any character of a file name, except those that Snakemake reads as wildcards.
"""

import glob
import os
import re
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, ValidationInfo

from ..files import locked
from ..folders import mark, protected_places
from ..parent_process import below_snakemake

RESULTS_MARK = ".beyond-ram-results"
# Descriptors of the results folders that this process has locked.
_lock_descriptors: list[int] = []
# Files of the project itself: no results go there.
OWN = frozenset(
    {".ci", ".git", ".snakemake", ".stacks", ".venv", "beyond_ram", "cases", "config", "docs", "envs", "examples"}
    | {"profiles", "rules", "schemas", "scripts", "snakemake_logger_plugin_beyond_ram", "tests"}
)
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|\{[^}]*\})")
_NAME_BYTES, _PATH_BYTES = 255, 4000
# Folders of results whose entries are folders with names from the config.
_NAMED = ("corpora", "tokens", "repositories", "runs", "private", "ladders", "logs", "specs")


class NotEchoedError(ValueError):
    """A fault whose message does not repeat the input, because it may contain a password."""


def _readable(value: str) -> str:
    """Raise ValueError for a value that cannot be meant as a path."""
    if not value.strip():
        raise ValueError("is empty; it has to be a path")
    if match := _UNPRINTABLE.search(value):
        raise ValueError(f"holds the character U+{ord(match[0]):04X}, which no path should")
    if match := _VARIABLE.search(value):
        raise ValueError(f"holds {match[0][:40]}, and variables are not expanded here; write the path out")
    encoded = os.fsencode(value)
    if len(encoded) > _PATH_BYTES or max(map(len, encoded.split(b"/"))) > _NAME_BYTES:
        raise ValueError(f"is too long: {_NAME_BYTES} bytes for a name and {_PATH_BYTES} for a path are the most")
    return value


def _tracked(value: str) -> str:
    """A path for rules and commands, normalised."""
    _readable(value)
    if match := re.search(r"[{}<>]", value):
        raise ValueError(f"holds {match[0]!r}, which is Snakemake's for wildcards; name it without")
    if "://" in value:
        raise ValueError("is an address; it has to be a path")
    if value != value.strip():
        raise ValueError("begins or ends with white space; name it without")
    # `..` after a link leads elsewhere than its text suggests.
    value = value if ".." in value.split("/") else os.path.normpath(value)
    if value[0] in "-~":
        raise ValueError(f"begins with {value[0]!r}, which commands read otherwise; write it from '/' on")
    return value


def _results(value: str) -> str:
    if ".." in value.split("/"):
        raise ValueError("holds '..'; write where it is from here, or from '/' on")
    value = _tracked(value)
    if value in (".", "/", "//"):
        raise ValueError("has to be a folder of its own, such as 'results'")
    return value


def _hub(value: str) -> str:
    """The address of a Hub, without a secret, because it appears in records and logs."""
    try:
        parts = urlsplit(value)
    except ValueError:
        parts = urlsplit("")
    if "@" in value:
        raise NotEchoedError(
            "holds a user or a password, which would stand in records; leave it out, and set the environment variable "
            "HF_TOKEN, which the relay reads",
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or re.search(r"[\s?#]", value):
        raise NotEchoedError("is no address of a Hub; it has to be one such as https://huggingface.co")
    if match := _UNPRINTABLE.search(value):
        raise NotEchoedError(f"holds the character U+{ord(match[0]):04X}, which no address does")
    return value


def _below(value: str, info: ValidationInfo) -> str:
    """A path relative to the config's `folder`, if set."""
    folder = (info.context or {}).get("folder")
    return str(Path(folder, value)) if folder and value[0] != "~" else value


def _pattern_below(value: str, info: ValidationInfo) -> str:
    folder = (info.context or {}).get("folder")
    return str(Path(glob.escape(folder), value)) if folder and value[0] != "~" else value


def is_address(value: str) -> bool:
    """Whether an input is an object, a folder or a pattern of a store."""
    return "://" in value


def _input_below(value: str, info: ValidationInfo) -> str:
    """A pattern relative to the config's `folder`, or an address without a secret, because it appears in records."""
    if not is_address(value):
        return _pattern_below(value, info)
    scheme, _, rest = value.partition("://")
    web, host = scheme.lower() in ("http", "https"), rest.partition("/")[0]
    if re.search(":.*@", host) or (web and ("@" in host or "?" in rest or "#" in rest)):
        raise NotEchoedError(
            "holds a password or a signature, which would stand in records; give those as the store's settings",
        )
    return value


PathText = Annotated[str, AfterValidator(_readable), AfterValidator(_below)]
"""A folder that a program looks up itself; it may begin with `~`."""
PatternText = Annotated[str, AfterValidator(_readable), AfterValidator(_pattern_below)]
"""A pattern of files that a program looks up itself; it may begin with `~`."""
InputText = Annotated[str, AfterValidator(_readable), AfterValidator(_input_below)]
"""A pattern as `PatternText`, or the address of objects of a store."""
TrackedPath = Annotated[str, AfterValidator(_tracked), AfterValidator(_below)]
"""A file or folder that is an input of rules."""
FolderPath = Annotated[str, AfterValidator(_tracked)]
"""The folder that the other paths are relative to."""
ResultsPath = Annotated[str, AfterValidator(_results), AfterValidator(_below)]
HubAddress = Annotated[str, AfterValidator(_hub)]


def results_fault(results: Path | str, root: Path | str) -> str | None:
    """Why results cannot go into a folder; None if they can.

    An existing folder must be empty or an earlier results folder, because Snakemake removes the outputs of its jobs.
    """
    folder = Path(results)
    try:
        resolved = folder.resolve()
        if folder.is_symlink() and not folder.exists():
            return "is a link that leads nowhere"
        project = Path(root).resolve()
        for place in (project, *protected_places()):
            if place.is_relative_to(resolved):
                return f"is {place} or holds it; it has to be a folder of its own, such as 'results'"
        for place in (project, Path.cwd()):
            first = resolved.relative_to(place).parts[0] if resolved.is_relative_to(place) else ""
            if first in OWN:
                return f"lies in {first!r}, which is the project's own; it has to be another folder"
        nearest = next(parent for parent in (resolved, *resolved.parents) if parent.exists())
        if not nearest.is_dir():
            return f"cannot be a folder: {nearest} is a file"
        if nearest == resolved and any(resolved.iterdir()) and not (resolved / RESULTS_MARK).is_file():
            return (
                f"is not empty and no results folder of beyond-ram's (it has no {RESULTS_MARK}); name another folder, "
                "or move that one away"
            )
        return _leading_out(resolved)
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        return f"cannot be used: {error}"


def open_results(results: Path | str) -> None:
    """Make the results folder, with its mark."""
    folder = Path(results)
    folder.mkdir(parents=True, exist_ok=True)
    mark(folder, RESULTS_MARK)


class LockedError(RuntimeError):
    """Another workflow makes these results; the text is one line."""


def lock_results(results: Path) -> None:
    """Lock a results folder by its mark until this process ends, because Snakemake locks only the working directory.

    Does nothing below another Snakemake, which has the lock, and on a file system without locks. Raises LockedError.
    """
    try:
        descriptor = os.open(results / RESULTS_MARK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return
    _lock_descriptors.append(descriptor)
    if locked(descriptor) is False and not below_snakemake():
        raise LockedError(
            f"{results}: a snakemake of another folder works on these results; wait for it, or name others"
        )


def _leading_out(results: Path) -> str | None:
    """Why a link in a results folder is refused; None if no link leads out of it."""
    folders = [results, *(results / name for name in _NAMED)]
    for path in (entry for folder in folders if folder.is_dir() for entry in folder.iterdir()):
        if path.is_symlink() and not path.resolve().is_relative_to(results):
            return f"holds the link {path.relative_to(results)}, which leads out of it; remove the link"
    return None
