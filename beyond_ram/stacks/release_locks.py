"""Locks of the releases of one package. The first lock pins all other packages; later locks keep these pins."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from packaging.utils import canonicalize_name as canonical

from . import scripts
from .index import Release
from .inline import Inline
from .locks import StackError, UnsolvableError, lacks
from .variants import exchanged

# The lock that pins all other packages.
FIRST = "first.txt"
# How uv names a yanked package that another one pins, as polars pins polars-runtime-32.
_YANKED = re.compile(r"([\w.-]+==[\w.+!-]+) was yanked")


@dataclass
class ReleaseLocks:
    """The locks of a package's releases, in one folder. An existing lock is not changed."""

    package: str
    inline: Inline
    folder: Path
    also: Sequence[str] = ()
    """Other packages that move too, each to its version at the release's date."""
    locks: dict[str, scripts.Locked] = field(default_factory=dict)
    """The lock of each release."""
    until: str | None = None
    """Only releases of other packages up to this time count. None: up to now. Empty: the index has no times."""
    _first: scripts.Locked | None = None

    def begin(self, releases: Sequence[Release]) -> None:
        """Lock the newest of some releases, with all other packages as of the day after the last upload. Raises
        StackError."""
        newest = max(releases, key=lambda one: one.version)
        # The packages of a stack may be newer than the releases.
        last = None if self.inline.pins else _day_after(*(one.uploaded for one in releases))
        self.until = self.inline.until or last
        first = self.folder / FIRST
        if first.is_file():
            self._first = scripts.read(first)
            return
        self._first = self._lock(newest, self.until)
        self.locks[newest.text] = self._first
        first.write_bytes(self._first.path.read_bytes())

    def lock(self, release: Release) -> scripts.Locked:
        """The lock of a release. Raises StackError."""
        if release.text not in self.locks:
            path = self.path(release.text)
            self.locks[release.text] = scripts.read(path) if path.is_file() else self._lock(release, self.until)
        return self.locks[release.text]

    def path(self, version: str) -> Path:
        """The path of a release's lock."""
        return self.folder / f"{self.package}-{version}.txt"

    def _lock(self, release: Release, until: str | None) -> scripts.Locked:
        locked = self._resolved(release, until)
        if difference := lacks(locked.path, f"{self.package}=={release.text}"):
            locked.path.unlink()
            raise StackError(f"{self.package} {release.text}: {difference}")
        return locked

    def _resolved(self, release: Release, until: str | None) -> scripts.Locked:
        replaced = {self.package: f"{self.package}=={release.text}"}
        requirements = exchanged(self.inline.requirements, replaced, exact=True)
        requirements += [name for name in self.also if canonical(name) not in self.inline.packages]
        if self.also and self._first:
            until = _day_after(release.uploaded) or until
        free = {canonical(self.package), *map(canonical, self.also)}
        pins = self._first.pins if self._first else self.inline.pins
        near = {name: pin for name, pin in pins.items() if name not in free}
        try:
            return scripts.lock(requirements, until, self.path(release.text), near)
        except UnsolvableError as error:
            # A resolver selects a yanked release only if its exact version is required.
            pinned = _YANKED.findall(str(error)) if release.yanked else []
            if not pinned:
                raise
            return scripts.lock([*requirements, *dict.fromkeys(pinned)], until, self.path(release.text), near)


def _day_after(*times: datetime | None) -> str:
    """One day after the last of some times, in uv's format; empty if no time is known."""
    known_times = [time for time in times if time]
    return f"{max(known_times) + timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}" if known_times else ""
