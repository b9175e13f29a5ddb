"""A script with releases of a package: which releases, their locks and environments, and a run with each."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from ..records import cell_runs
from ..stacks import index, scripts
from ..stacks.index import Release
from ..stacks.inline import Inline
from ..stacks.locks import StackError
from ..stacks.release_locks import ReleaseLocks
from ..stacks.venv import build
from ..watch import WatchOptions
from . import integrity
from .campaign import PATIENCE_S, RUNS, Campaign
from .cell import Setting
from .plan import COMPLETED, NOT_INSTALLABLE, Member, Run
from .scripts import cell_of, job_of, measure


@dataclass(frozen=True)
class Range:
    """The releases between two, both included, oldest first."""

    package: str
    releases: list[Release]
    """Those that are searched."""
    skipped: list[Release]
    """Those that cannot be installed here."""

    @property
    def versions(self) -> list[str]:
        return [release.text for release in self.releases]

    def release(self, version: str) -> Release:
        return next(one for one in self.releases if one.text == version)


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
    all_of_them = len(finals) == 2 and any(end.is_prerelease for end in ends)
    return Range(package, fitting if all_of_them else finals, [one for one in inside if one.missing])


@dataclass
class Ladder:
    """A script over releases: its locks, environments and runs."""

    script: Path
    words: Sequence[str]
    inline: Inline
    releases: Range
    also: Sequence[str]
    campaign: Campaign
    budget_s: float
    memory_limit_bytes: int | None = None
    out: Path | None = None
    """Where locks, environments and runs are; by default in the campaign's folder."""
    _text: bytes = b""

    def __post_init__(self) -> None:
        self.place = self.out or self.campaign.out
        self.release_locks = ReleaseLocks(self.releases.package, self.inline, self.place / "locks", self.also)

    @property
    def locks(self) -> dict[str, scripts.Locked]:
        """The locks that were needed so far, by release."""
        return self.release_locks.locks

    def begin(self) -> None:
        """Lock the newest release, and with it all else. Raises StackError where neither end can be locked."""
        self._text = self.script.read_bytes()
        releases = self.releases.releases
        self.campaign.show(f"locking {self.script.name} with {self.releases.package} {self.releases.versions[-1]}")
        self.release_locks.begin(releases)
        ran = {run.member.side for run in self.campaign.runs if run.outcome != NOT_INSTALLABLE}
        for release in (one for one in releases if one.text in ran):
            self.release_locks.lock(release)

    def python(self, version: str) -> Path:
        """The interpreter of a release."""
        return self.place / "stacks" / self.release_locks.path(version).stem / "bin" / "python"

    def run(self, member: Member, number: int, block: str) -> Run:
        """Run the script once with a release. Raises MeasuringError, ValueError if it changed."""
        if self.script.read_bytes() != self._text:
            raise ValueError(f"{self.script} has changed since the search began, so its runs cannot be compared")
        version, python = member.side, self.python(member.side)
        cell = cell_of("bisect", f"{self.releases.package}-{version}", self.script, number, self.words)
        timeout_s = self.campaign.patience_s or max(self.budget_s, PATIENCE_S)
        limits = WatchOptions(timeout_s=timeout_s, memory_limit_bytes=self.memory_limit_bytes)
        masked = [one for one in self.releases.versions if one.count(".") > 1]
        try:
            if version not in self.locks or not python.exists():
                self.campaign.show(f"building {self.releases.package} {version}")
            lock = self.release_locks.lock(self.releases.release(version))
            build(lock.path, python.parents[1])
        except StackError as error:
            return Run(member, number, block, NOT_INSTALLABLE, scripts.one_line(error))
        job = job_of(cell, self.script, self.words)
        setting = Setting(job, str(python), lock.path, self.place / "private")
        return measure(setting, self.place / RUNS, (member, number, block), masked, limits)

    @functools.cached_property
    def never_imported(self) -> bool:
        """Whether no completed run imported the package. Processes below the script's are not seen."""
        completed = [run for run in self.campaign.runs if run.outcome == COMPLETED]
        return bool(completed) and all(self._imported(run) is False for run in completed)

    def _imported(self, run: Run) -> bool | None:
        python, events = str(self.python(run.member.side)), cell_runs.events(self.place / RUNS / run.folder)
        return integrity.imported(python, self.releases.package, events)

    def is_useless(self, runs: Sequence[Run]) -> bool:
        """Whether the first completed run of both ends neither imported the package nor started a process, which might
        have: the kernel has told of each exit."""
        first = [next((run for run in runs if run.outcome == COMPLETED and run.member.side == side), None)
                 for side in (self.releases.versions[0], self.releases.versions[-1])]  # fmt: skip
        return all(run and self._imported(run) is False and self._is_alone(run) for run in first)

    def _is_alone(self, run: Run) -> bool:
        marks = cell_runs.record(self.place / RUNS / run.folder)["peak"]["hwm_bytes"]
        ended = marks["processes_seen"] + marks["never_sampled"]
        return marks["exits_by_kernel"] and not marks["exits_lost"] and ended == 1
