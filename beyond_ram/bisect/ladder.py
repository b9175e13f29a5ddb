"""The releases that are searched, and the runs of the script with each: locked, built and weighed when asked for."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from packaging.version import InvalidVersion, Version

from ..stacks import index, scripts
from ..stacks.differences import canonical
from ..stacks.index import Release
from ..stacks.inline import Inline
from ..stacks.locks import StackError
from ..stacks.venv import build
from ..weighing.cell import Setting
from ..weighing.scripts import Ended, cell_of, job_of, weigh
from .search import NotInstallableError, Run

# A run may take this many times as long as the longest that completed, and some seconds more.
_PATIENCE, _PATIENCE_S = 10, 60


@dataclass(frozen=True)
class Range:
    """The releases between two, both included, oldest first."""

    package: str
    releases: list[Release]
    """Those that are searched."""
    prereleases: list[Release]
    """Those that are looked at where a step is beside them."""
    skipped: list[Release]
    """Those that cannot be installed here."""

    @property
    def versions(self) -> list[str]:
        return [release.text for release in self.releases]

    def release(self, version: str) -> Release:
        return next(one for one in [*self.releases, *self.prereleases] if one.text == version)

    def between(self, first: str, second: str) -> list[Release]:
        """The prereleases between two releases."""
        return [one for one in self.prereleases if Version(first) < one.version < Version(second)]


def range_of(package: str, good: str, bad: str) -> Range:
    """The releases of a package from `good` to `bad`, in either order. Raises ValueError, StackError.

    Prereleases are searched where an end is one, or nothing else lies between.
    """
    ends = []
    for text in (good, bad):
        try:
            ends.append(Version(text))
        except InvalidVersion:
            raise ValueError(f"{text!r} is no version of {package}, such as 1.2.3") from None
    if ends[0] == ends[1]:
        raise ValueError(f"--good and --bad are both {good}; two different releases are needed")
    first, last = sorted(ends)
    listed = index.releases(package)
    inside = [one for one in listed if first <= one.version <= last]
    by_version = {one.version: one for one in inside}
    for end in ends:
        if end not in by_version:
            near = sorted(one.version for one in listed if not one.version.is_prerelease)[-5:]
            raise ValueError(f"{package} has no release {end}; the newest are {', '.join(map(str, near))}")
        if why := by_version[end].missing:
            raise ValueError(f"{package} {end} {why}; name a release beside it")
    fitting = [one for one in inside if not one.missing]
    finals = [one for one in fitting if not one.version.is_prerelease or one.version in ends]
    searched = fitting if len(finals) == 2 and any(end.is_prerelease for end in ends) else finals
    return Range(
        package, searched, [one for one in fitting if one not in searched], [one for one in inside if one.missing]
    )


@dataclass
class Ladder:
    """The runs of a script over releases."""

    script: Path
    words: Sequence[str]
    inline: Inline
    releases: Range
    also: Sequence[str]
    out: Path
    budget_s: float
    memory_limit_bytes: int | None = None
    tell: Callable[[str], None] = lambda line: None
    clock: Callable[[], float] = time.monotonic
    ended: dict[str, list[Ended]] = field(default_factory=dict)
    locks: dict[str, scripts.Locked] = field(default_factory=dict)
    until: str | None = None
    """Until when releases of all other packages count; None: now, empty: the index knows no times."""
    notes: list[str] = field(default_factory=list)
    _first: scripts.Locked | None = None
    _began: float = 0.0
    _built_s: list[float] = field(default_factory=list)

    def begin(self) -> None:
        """Lock the newest release, and with it all else. Raises StackError where neither end can be locked."""
        self._began = self.clock()
        newest = max(self.releases.releases, key=lambda one: one.version)
        times = [one.uploaded for one in [*self.releases.releases, *self.releases.prereleases] if one.uploaded]
        own = f"{max(times) + timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}" if times else ""
        self.until = self.inline.until or own
        self.tell(f"locking {self.script.name} with {self.releases.package} {newest.text}")
        try:
            self._first = self._lock(newest.text, self.until)
        except StackError:
            if self.inline.until or not self.until:
                raise
            # What the script asks for may be younger than the releases that are searched.
            self._first = self._lock(newest.text, None)
            self.until = None
            self.notes.append("its other requirements are younger than these releases, so they are of today")
        self.locks[newest.text] = self._first

    def _lock(self, version: str, until: str | None) -> scripts.Locked:
        package = self.releases.package
        asked = self.inline.but(package, f"{package}=={version}")
        asked += [name for name in self.also if canonical(name) not in self.inline.packages]
        if self.also and self._first:
            uploaded = self.releases.release(version).uploaded
            until = f"{uploaded + timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}" if uploaded else until
        free = {canonical(package), *map(canonical, self.also)}
        path = self.out / "locks" / f"{package}-{version}.txt"
        return scripts.lock(asked, until, path, self._first, free)

    def _environment(self, version: str) -> Path:
        """The interpreter of a release, built if need be. Raises NotInstallableError."""
        lock = self.out / "locks" / f"{self.releases.package}-{version}.txt"
        folder = self.out / "stacks" / lock.stem
        if version not in self.locks or not (folder / "bin" / "python").exists():
            self.tell(self._status(f"building {self.releases.package} {version}"))
            began = self.clock()
            try:
                self.locks[version] = self.locks.get(version) or self._lock(version, self.until)
                build(self.locks[version].path, folder)
            except StackError as error:
                raise NotInstallableError(scripts.reason(error)) from None
            self._built_s.append(self.clock() - began)
        return folder / "bin" / "python"

    def weigh(self, version: str, number: int) -> Run:
        """Run the script once with a release. Raises NotInstallableError, WeighingError."""
        python = self._environment(version)
        self.tell(self._status(f"{self.releases.package} {version}"))
        cell = cell_of("bisect", f"{self.releases.package}-{version}", self.script, number)
        job = job_of(cell, self.script, self.words)
        setting = Setting(job, str(python), self.locks[version].path, self.out / "private")
        limits = {"timeout_s": self._timeout_s()}
        limits |= {"memory_limit_bytes": self.memory_limit_bytes} if self.memory_limit_bytes else {}
        masked = [one for one in self.releases.versions if one.count(".") > 1]
        ended = weigh(setting, self.out / "runs", masked, **limits)
        self.ended.setdefault(version, []).append(ended)
        return Run(version, number, ended.outcome, ended.answer, ended.values, ended.started_at, ended.ended_at)

    def _timeout_s(self) -> float:
        completed = [one.record["duration_s"] for one in self._all() if one.outcome == "completed"]
        return _PATIENCE * max(completed) + _PATIENCE_S if completed else max(self.budget_s, _PATIENCE_S)

    def fits(self, versions: Sequence[str]) -> bool:
        """Whether another run of each of these releases fits into the budget, going by those so far."""
        runs = [one.record["duration_s"] for one in self._all()]
        a_run = sum(runs) / len(runs) + 0.5 if runs else 1.0
        a_build = sum(self._built_s) / len(self._built_s) if self._built_s else 0.0
        needed = sum(a_run + (0.0 if version in self.ended else a_build) for version in versions)
        return self.used_s + needed <= self.budget_s

    @property
    def used_s(self) -> float:
        return self.clock() - self._began

    @property
    def count(self) -> int:
        """Runs so far."""
        return len(self._all())

    def _all(self) -> list[Ended]:
        return [one for ended in self.ended.values() for one in ended]

    def _status(self, what: str) -> str:
        return f"run {self.count + 1}: {what}; {self.used_s / 60:.1f} of {self.budget_s / 60:g} min"
