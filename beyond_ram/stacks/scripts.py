"""The environment of a script: its requirements locked once, and the same lock with one package at other releases."""

import re
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..files import write
from .differences import canonical, pins
from .locks import StackError, resolve
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
    """What beside the package differs from the first lock: `NAME VERSION to VERSION, …`."""


def lock(requirements: Sequence[str], until: str | None, path: Path, first: Locked | None = None,
         free: Collection[str] = ()) -> Locked:  # fmt: skip
    """Lock requirements with hashes.

    Of a `first` lock each pin is kept that can be, but those of packages in `free`.

    Raises StackError with the resolver's reason, without the address of an index.
    """
    try:
        return _lock(requirements, until, path, first, free)
    except StackError as error:
        raise StackError(_ADDRESS.sub("(the package index)", str(error))) from None


def _lock(
    requirements: Sequence[str], until: str | None, path: Path, first: Locked | None, free: Collection[str]
) -> Locked:
    kept = {} if first is None else {name: pin for name, pin in first.pins.items() if name not in free}
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        asked, pinned, made = (Path(folder, name) for name in ("asked.in", "pinned.txt", "made.txt"))
        write(asked, "".join(f"{line}\n" for line in requirements))
        lines = "".join(f"{name}=={pin}\n" for name, pin in kept.items())
        write(pinned, lines)
        try:
            resolve(asked, made, [f"--constraints={pinned}"] if kept else [], until)
        except StackError as error:
            if not kept or "No solution found" not in str(error):
                raise
            write(made, lines)  # uv keeps what stands in its output, where that can be
            resolve(asked, made, [], until)
        text = made.read_text(encoding="utf-8")
        now = pins(text)
        other = sorted(name for name in kept.keys() & now.keys() if kept[name] != now[name])
        moved = ", ".join(f"{name} {kept[name]} to {now[name]}" for name in other)
        head = f"{MOVED}{moved}\n" if moved else ""
        write(path, f"{head}{UNTIL}{until}\n{text}" if until else head + text)
    return Locked(path, now, moved)


def reason(error: StackError) -> str:
    """The resolver's or builder's reason in a line."""
    return one_line(str(error))


def without(packages: Collection[str]) -> set[str]:
    """Names of packages as locks have them."""
    return set(map(canonical, packages))
