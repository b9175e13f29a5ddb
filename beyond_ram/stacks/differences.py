"""Packages that two locks pin in different versions."""

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from packaging.utils import canonicalize_name as canonical

from ..text import first_of

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)", re.MULTILINE)
_REQUEST = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
MOST_NAMED = 3
"""Number of packages that are named where space is limited."""


@dataclass(frozen=True)
class Difference:
    """A package that two locks pin in different versions. A version is None if its lock lacks the package."""

    package: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.package} {self.after} new"
        return f"{self.package} {self.before} {'gone' if self.after is None else f'to {self.after}'}"


def pins(lock: str) -> dict[str, str]:
    """The version of every package in a lock."""
    return {canonical(name): version for name, version in _PIN.findall(lock)}


def requested(requirements: str) -> list[str]:
    """The packages that the text of a NAME.in requires."""
    matches = (_REQUEST.match(line) for line in requirements.splitlines())
    return [canonical(one[1]) for one in matches if one]


def base_of(stack: str) -> str:
    """The stack that NAME+PACKAGE-VERSION is based on."""
    return stack.partition("+")[0]


def differences(before: str, after: str, first: Iterable[str] = ()) -> list[Difference]:
    """The differences of two locks. First the packages in `first`, then packages of both locks, then new ones, then
    removed ones."""
    old, new, wanted = pins(before), pins(after), {*first}
    all_packages = [Difference(name, old.get(name), new.get(name)) for name in old.keys() | new.keys()]

    def order(one: Difference) -> tuple[bool, bool, bool, str]:
        return one.package not in wanted, one.after is None, one.before is None, one.package

    return sorted((one for one in all_packages if one.before != one.after), key=order)


def changed_pins(before: Mapping[str, str], after: Mapping[str, str], beside: Container[str] = ()) -> str:
    """The packages whose pins differ, without those `beside`: `NAME VERSION to VERSION, …`."""
    names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    others = (name for name in names if name not in beside)
    return ", ".join(f"{name} {before.get(name, 'none')} to {after.get(name, 'none')}" for name in others)


def packages_in_words(differing: Iterable[Difference], most: int = MOST_NAMED) -> str:
    """Differences in one line: the first few, and how many more there are."""
    return first_of(differing, most)
