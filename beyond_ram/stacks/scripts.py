"""The environment of a script. Its requirements are locked once; variants change one package of that lock."""

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..files import write
from . import variants
from .differences import pins
from .locks import StackError, resolve_near, text_of
from .variants import MOVED, one_line

# The first line of a lock: up to which time releases counted.
UNTIL = "# exclude-newer: "
_ADDRESS = re.compile(r"[a-z]+://\S+")


@dataclass(frozen=True)
class Locked:
    """A lock of a script."""

    path: Path
    pins: dict[str, str]
    moved: str = ""
    """Other packages that differ from the first lock: `NAME VERSION to VERSION, …`."""


def lock(requirements: Sequence[str], until: str | None, path: Path, kept: Mapping[str, str] | None = None) -> Locked:
    """Lock requirements with hashes, each package at its version in `kept` if possible.

    Raises StackError with the resolver's reason, without the address of an index.
    """
    try:
        return _lock(requirements, until, path, kept or {})
    except StackError as error:
        raise type(error)(_ADDRESS.sub("(the package index)", str(error))) from None


def read(path: Path) -> Locked:
    """Read an existing lock."""
    return Locked(path, pins(text_of(path)), variants.moved(path) or "")


def _lock(requirements: Sequence[str], until: str | None, path: Path, kept: Mapping[str, str]) -> Locked:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        asked, solved = Path(folder, "asked.in"), Path(folder, "solved.txt")
        write(asked, "".join(f"{line}\n" for line in requirements))
        moved = resolve_near(asked, solved, kept, until)
        text = solved.read_text(encoding="utf-8")
        now = pins(text)
        head = f"{MOVED}{moved}\n" if moved else ""
        write(path, f"{head}{UNTIL}{until}\n{text}" if until else head + text)
    return Locked(path, now, moved)


def reason(error: StackError) -> str:
    """The resolver's or builder's reason, in one line."""
    return one_line(str(error))
