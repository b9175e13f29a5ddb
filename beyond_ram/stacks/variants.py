"""Variants of a stack: one package in another version, all others as locked if they can stay."""

import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from ..files import write
from ..text import NAME
from .differences import canonical, pins
from .locks import PRE, StackError, UnsolvableError, lock_of, resolve_near, takes_prereleases, text_of

# First line of the lock of a variant that cannot be: the resolver's reason behind it.
INFEASIBLE = "# infeasible: "
# First line of the lock of a variant for which more than the one package had to move: what, from where and to where.
MOVED = "# moved: "
_PACKAGE = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_RELEASE = re.compile(r"\d+(\.\d+)*(\.post\d+)?")


def is_variant(stack: str) -> bool:
    return "+" in stack


def parts_of(stack: str) -> tuple[str, str, str]:
    """Base, package and version of a variant. Raises ValueError for a stack that is none."""
    match = re.fullmatch(rf"({NAME})\+({_PACKAGE})-([A-Za-z0-9._]+)", stack)
    if not match:
        raise ValueError(f"{stack!r} is no variant: BASE+PACKAGE-VERSION")
    return match[1], match[2], match[3]


def vary(stack: str, envs: Path, lock: Path) -> None:
    """Lock a variant: what its base asks for, the one package at its version, every other pin of the base kept.

    Packages that the base does not have may join where the version needs them. Where the pins forbid it, the resolver
    keeps those that it can, and the first line of the lock says what had to move. Where it cannot be at all, that line
    has the resolver's reason. Raises StackError where the base is unknown or the index does not answer.
    """
    base, package, version = parts_of(stack)
    exchange(base, {package: f"{package}=={version}"}, envs, lock)


def exchange(
    base: str, asked_for: Mapping[str, str], envs: Path, lock: Path, like: tuple[Path, Collection[str]] | None = None
) -> None:
    """Lock what a base asks for with some packages as they are asked for here, every other pin of the base kept.

    `asked_for` has a line of requirements by the package's name. Of `like`, another lock made of the base, the pins are
    kept instead, but for the packages named with it. The rest is as `vary` has it.
    """
    source = envs / f"{base}.in"
    if not source.exists():
        raise StackError(f"{source}: no such stack")
    base_lock = text_of(lock_of(base, envs))
    kept_pins = pins(base_lock)
    if like:
        earlier, own = pins(like[0].read_text(encoding="utf-8")), set(map(canonical, like[1]))
        kept_pins = {name: pin for name, pin in earlier.items() if name not in own} | {
            name: pin for name, pin in kept_pins.items() if name in own
        }
    for package in asked_for:
        kept_pins.pop(canonical(package), None)
    lock.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=lock.parent) as folder:
        asked, solved = Path(folder, "asked.in"), Path(folder, "solved.txt")
        lines = [*_others(source, asked_for), *asked_for.values()]
        asked.write_text("".join(f"{line}\n" for line in ([PRE] if takes_prereleases(source) else []) + lines))
        try:
            moved_packages = resolve_near(asked, solved, kept_pins)
        except UnsolvableError as error:
            write(lock, f"{INFEASIBLE}{one_line(str(error))}\n")
            return
        head = f"{MOVED}{moved_packages}\n" if moved_packages else ""
        write(lock, head + solved.read_text(encoding="utf-8"))


def reason(lock: Path) -> str | None:
    """Why a variant cannot be installed; None if it can."""
    return _first_line(lock, INFEASIBLE)


def moved(lock: Path) -> str | None:
    """Other packages that differ from the base, as `NAME VERSION to VERSION, …`; None without any."""
    return _first_line(lock, MOVED)


def _first_line(lock: Path, sign: str) -> str | None:
    first = text_of(lock).partition("\n")[0]
    return first.removeprefix(sign) if first.startswith(sign) else None


def releases(package: str, named: Sequence[str] = ()) -> list[str]:
    """The releases of a package that this Python can install, oldest first.

    Final ones that are not yanked, and those prereleases that are `named`. Raises StackError.
    """
    from . import index  # imports an HTTP client, which no run needs

    if not re.fullmatch(_PACKAGE, package):
        raise StackError(f"{package!r} is no name of a package")
    listed = [one for one in index.releases(package) if not one.missing]
    return [one.text for one in listed if one.text in named or not (one.yanked or one.version.is_prerelease)]


def _others(source: Path, packages: Collection[str]) -> list[str]:
    """The requirements of a stack without some packages and without versions, which its lock keeps."""
    lines = [line.partition("#")[0].strip() for line in text_of(source).splitlines()]
    names = [match[0] for line in lines if (match := re.match(r"[A-Za-z0-9][A-Za-z0-9._-]*(\[[^]]*\])?", line))]
    left_out = set(map(canonical, packages))
    return [name for name in names if canonical(name.partition("[")[0]) not in left_out]


def one_line(text: str) -> str:
    """The resolver's reason, up to its conclusion, without the drawing."""
    words = " ".join(re.sub(r"[^\x20-\x7e]", " ", text.partition("\n")[2] or text).split())
    because = words.find("Because")
    return (words[because:] if because >= 0 else words)[:400]
