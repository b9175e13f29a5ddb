"""The releases that are searched, and the runs of the script with each: locked, built and weighed when asked for."""

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from packaging.version import InvalidVersion, Version

from ..experiment import records
from ..stacks import index, scripts
from ..stacks.index import Release
from ..stacks.inline import Inline
from ..stacks.locks import StackError
from ..stacks.release_locks import ReleaseLocks
from ..stacks.venv import build
from ..watch import WatchOptions
from ..weighing import integrity
from ..weighing.cell import Setting
from ..weighing.scripts import PATIENCE, PATIENCE_S, Ended, cell_of, job_of, weigh
from .search import COMPLETED, NotInstallableError, Run


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
    options: Sequence[str] = ("--with",)
    """The options of a command that runs the script with the same packages; `--with` is the last."""
    show: Callable[[str], None] = lambda line: None
    clock: Callable[[], float] = time.monotonic
    ended: dict[str, list[Ended]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    imports: list[bool | None] = field(default_factory=list)
    """Of each completed run: whether the script's process imported the package; None if that cannot be seen."""
    _began: float = 0.0
    _text: bytes = b""
    _built_s: list[float] = field(default_factory=list)

    @functools.cached_property
    def release_locks(self) -> ReleaseLocks:
        """The locks."""
        return ReleaseLocks(self.releases.package, self.inline, self.out / "locks", self.also)

    @property
    def locks(self) -> dict[str, scripts.Locked]:
        """The locks that were needed so far, by release."""
        return self.release_locks.locks

    def begin(self) -> None:
        """Lock the newest release, and with it all else. Raises StackError where neither end can be locked."""
        self._began = self.clock()
        self._text = self._read()
        releases = [*self.releases.releases, *self.releases.prereleases]
        self.show(f"locking {self.script.name} with {self.releases.package} {self.releases.versions[-1]}")
        self.release_locks.begin(self.releases.releases, releases)
        if self.release_locks.younger:
            self.notes.append("its other requirements are younger than these releases, so they are of today")

    def _read(self) -> bytes:
        """The script. A file that is gone reads as empty."""
        try:
            return self.script.read_bytes()
        except FileNotFoundError:
            return b""

    def _environment(self, version: str) -> Path:
        """The interpreter of a release, built if need be. Raises NotInstallableError."""
        folder = self.out / "stacks" / self.release_locks.path(version).stem
        if version not in self.locks or not (folder / "bin" / "python").exists():
            self.show(self._status(f"building {self.releases.package} {version}"))
            began = self.clock()
            try:
                build(self.release_locks.lock(self.releases.release(version)).path, folder)
            except StackError as error:
                raise NotInstallableError(scripts.reason(error)) from None
            self._built_s.append(self.clock() - began)
        return folder / "bin" / "python"

    def weigh(self, version: str, number: int) -> Run:
        """Run the script once with a release. Raises NotInstallableError, WeighingError, ValueError if it changed."""
        if self._read() != self._text:
            raise ValueError(f"{self.script} has changed since the search began, so its runs cannot be compared")
        python = self._environment(version)
        self.show(self._status(f"{self.releases.package} {version}"))
        limits = WatchOptions(timeout_s=self._timeout_s(), memory_limit_bytes=self.memory_limit_bytes)
        masked = [one for one in self.releases.versions if one.count(".") > 1]
        cell = cell_of("bisect", f"{self.releases.package}-{version}", self.script, number, self.words)
        setting = Setting(
            job_of(cell, self.script, self.words), str(python), self.locks[version].path, self.out / "private"
        )
        ended = weigh(setting, self.out / "runs", masked, limits)
        self.ended.setdefault(version, []).append(ended)
        if ended.outcome == COMPLETED:
            events = records.events(self.out / "runs" / cell.path)
            self.imports.append(integrity.imported(str(python), self.releases.package, events))
        return Run(number, ended.outcome, ended.answer, ended.values, ended.started_at, ended.ended_at)

    def _timeout_s(self) -> float:
        completed = [one.record["duration_s"] for one in self._all() if one.outcome == COMPLETED]
        return PATIENCE * max(completed) + PATIENCE_S if completed else max(self.budget_s, PATIENCE_S)

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
