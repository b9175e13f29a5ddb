"""The environment of a script: its requirements locked once, and the same lock with one package at other releases."""

import re
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..files import write
from . import variants
from .differences import pins
from .locks import StackError, resolve_near, text_of
from .variants import MOVED, one_line

# The first line of a lock: until when releases counted.
UNTIL = "# exclude-newer: "
_ADDRESS = re.compile(r"[a-z]+://\S+")


@dataclass(frozen=True)
class Locked:
    """A lock of a script."""

    path: Path
    pins: dict[str, str]
    moved: str = ""
    """Other packages that differ from the first lock: `NAME VERSION to VERSION, …`."""


def lock(requirements: Sequence[str], until: str | None, path: Path, first: Locked | None = None,
         free: Collection[str] = ()) -> Locked:  # fmt: skip
    """Lock requirements with hashes.

    Of a `first` lock each pin is kept that can be, but those of packages in `free`.

    Raises StackError with the resolver's reason, without the address of an index.
    """
    try:
        return _lock(requirements, until, path, first, free)
    except StackError as error:
        raise type(error)(_ADDRESS.sub("(the package index)", str(error))) from None


def read(path: Path) -> Locked:
    """A lock that was made before."""
    return Locked(path, pins(text_of(path)), variants.moved(path) or "")


def _lock(
    requirements: Sequence[str], until: str | None, path: Path, first: Locked | None, free: Collection[str]
) -> Locked:
    kept = {} if first is None else {name: pin for name, pin in first.pins.items() if name not in free}
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
    """The resolver's or builder's reason in a line."""
    return one_line(str(error))
