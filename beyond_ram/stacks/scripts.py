"""Lock requirements as they are, as of a script or of a stack with a package exchanged, near a lock that exists."""

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..files import write
from .differences import pins
from .inline import Inline
from .locks import StackError, resolve_near, text_of

# The first line of a lock that had to move other packages, followed by their versions.
MOVED = "# moved: "
# The next line: up to which time releases counted.
UNTIL = "# exclude-newer: "
_ADDRESS = re.compile(r"[a-z]+://\S+")


@dataclass(frozen=True)
class Locked:
    """A lock of requirements."""

    path: Path
    pins: dict[str, str]
    moved: str = ""
    """Other packages that differ from the first lock: `NAME VERSION to VERSION, …`."""


def lock(requirements: Sequence[str], until: str | None, path: Path, near: Mapping[str, str] | None = None) -> Locked:
    """Lock requirements with hashes, each package at its version in `near` if possible.

    Raises StackError with the resolver's reason, without the address of an index.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        source, solved = Path(folder, "source.in"), Path(folder, "solved.txt")
        write(source, "".join(f"{line}\n" for line in requirements))
        try:
            moved_packages = resolve_near(source, solved, near or {}, until)
        except StackError as error:
            raise type(error)(_ADDRESS.sub("(the package index)", str(error))) from None
        head = (f"{MOVED}{moved_packages}\n" if moved_packages else "") + (f"{UNTIL}{until}\n" if until else "")
        write(path, head + solved.read_text(encoding="utf-8"))
    return read(path)


def locked(inline: Inline, path: Path) -> Locked:
    """The lock of a script: the existing one, or a new one. Raises StackError."""
    return read(path) if path.exists() else lock(inline.requirements, inline.until, path, inline.pins)


def read(path: Path) -> Locked:
    """Read an existing lock."""
    return Locked(path, pins(text_of(path)), moved(path) or "")


def moved(lock: Path) -> str | None:
    """Other packages that differ from the first lock, as `NAME VERSION to VERSION, …`; None if there are none."""
    return first_line(lock, MOVED)


def first_line(lock: Path, sign: str) -> str | None:
    """The first line of a lock behind its sign; None if it has another one."""
    first = text_of(lock).partition("\n")[0]
    return first.removeprefix(sign) if first.startswith(sign) else None


def one_line(error: StackError) -> str:
    """The resolver's or builder's reason up to its conclusion, in one line without line drawing."""
    text = str(error)
    words = " ".join(re.sub(r"[^\x20-\x7e]", " ", text.partition("\n")[2] or text).split())
    because = words.find("Because")
    return (words[because:] if because >= 0 else words)[:400]
