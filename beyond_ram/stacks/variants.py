"""Variants of a stack: one package in another version, all others as locked if possible."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import Specifier, SpecifierSet
from packaging.utils import canonicalize_name as canonical

from ..files import write
from ..text import NAME, first_of
from .differences import pins
from .locks import PRE, StackError, UnsolvableError, lock_of, takes_prereleases, text_of
from .scripts import first_line, one_line
from .scripts import lock as lock_requirements

# First line of the lock of an impossible variant, followed by the resolver's reason.
INFEASIBLE = "# infeasible: "
_PACKAGE = r"[A-Za-z0-9][A-Za-z0-9._-]*"
Lock = tuple[Path, Collection[str]]
"""A lock, and the packages that were replaced in it."""


def parts_of(stack: str) -> tuple[str, str, str]:
    """Base, package and version of a variant. Raises ValueError if the stack is not a variant."""
    match = re.fullmatch(rf"({NAME})\+({_PACKAGE})-([A-Za-z0-9._]+)", stack)
    if not match:
        raise ValueError(f"{stack!r} is no variant: BASE+PACKAGE-VERSION")
    return match[1], match[2], match[3]


def vary(stack: str, envs: Path, lock: Path) -> None:
    """Lock a variant: the requirements of its base, with one package at its version and all other pins of the base.

    New packages may be added if the version needs them. If the pins forbid the version, the resolver keeps as many as
    possible, and the first line of the lock lists the packages that moved. If the variant is impossible, the first line
    has the resolver's reason. Raises StackError if the base is unknown or the index does not answer.
    """
    base, package, version = parts_of(stack)
    exchange(base, {package: f"{package}=={version}"}, envs, lock)


def exchange(
    base: str, replaced: Mapping[str, str], envs: Path, lock: Path, like: Lock | None = None, *, exact: bool = False
) -> None:
    """Lock the requirements of a base with some packages replaced, keeping every other pin of the base.

    `replaced` maps a package to its new requirement. If `like` is set, another lock of the same base, its pins are
    kept instead, except for its own replaced packages. With `exact`, versions that the base requires exactly stay too;
    otherwise they may move, as all pins. All else as in `vary`.
    """
    source = envs / f"{base}.in"
    if not source.exists():
        raise StackError(f"{source}: no such stack")
    base_lock = text_of(lock_of(base, envs))
    near = pins(base_lock)
    if like:
        earlier, own = pins(like[0].read_text(encoding="utf-8")), set(map(canonical, like[1]))
        near = {name: (near if name in own else earlier)[name] for name in {*earlier} - own | near.keys() & own}
    near = {name: pin for name, pin in near.items() if name not in set(map(canonical, replaced))}
    requirements = exchanged(text_of(source).splitlines(), replaced, exact=exact)
    requirements = [PRE, *requirements] if takes_prereleases(source) else requirements
    try:
        lock_requirements(requirements, None, lock, near)
    except UnsolvableError as error:
        write(lock, f"{INFEASIBLE}{one_line(error)}\n")


def reason(lock: Path) -> str | None:
    """Why a variant cannot be installed; None if it can."""
    return first_line(lock, INFEASIBLE)


def releases(package: str, named: Sequence[str] = ()) -> list[str]:
    """The releases of a package that this Python can install, oldest first.

    Final releases that are not yanked, plus the releases in `named`. Raises StackError, also if it lacks one of these.
    """
    from . import index  # imports an HTTP client, which no run needs

    if not re.fullmatch(_PACKAGE, package):
        raise StackError(f"{package!r} is no name of a package")
    listed = [one for one in index.releases(package) if not one.missing]
    chosen = [one.text for one in listed if one.text in named or not (one.yanked or one.version.is_prerelease)]
    if unknown := [version for version in named if version not in chosen]:
        raise StackError(f"the index has no {package} {', '.join(unknown)}; it has {first_of(reversed(chosen), 5)}")
    return chosen


def exchanged(requirements: Iterable[str], replaced: Mapping[str, str], *, exact: bool) -> list[str]:
    """Requirements with those of some packages replaced, which keep their extras.

    Without `exact`, exact versions are left out, because the base's lock has them.
    """
    lines, extras = list[str](), dict[str, set[str]]()
    left_out = set(map(canonical, replaced))
    for line in (re.sub(r"(^|\s)#.*", "", line).strip() for line in requirements):
        try:
            one = Requirement(line)
        except InvalidRequirement:  # an empty line, or an option such as --pre
            continue
        if canonical(one.name) in left_out:
            extras.setdefault(canonical(one.name), set()).update(one.extras)
            continue
        if not exact:
            one.specifier = SpecifierSet(",".join(str(bound) for bound in one.specifier if not _is_exact(bound)))
        lines.append(str(one))
    for package, line in replaced.items():
        one = Requirement(line)
        one.extras |= extras.get(canonical(package), set())
        lines.append(str(one))
    return lines


def _is_exact(bound: Specifier) -> bool:
    return bound.operator in ("==", "===") and "*" not in bound.version
