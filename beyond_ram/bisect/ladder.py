"""The releases that are searched, the runs of the script with each, and who of them runs next."""

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from packaging.version import InvalidVersion, Version

from ..experiment import Cell, records
from ..measure import integrity
from ..measure.campaign import RUNS, Campaign
from ..measure.cell import Setting
from ..measure.plan import COMPLETED, NOT_INSTALLABLE, Block, Member, Run
from ..measure.screen import Step, word
from ..measure.scripts import PATIENCE, PATIENCE_S, Ended, cell_of, job_of, measure
from ..measure.search import Search
from ..stacks import index, scripts
from ..stacks.index import Release
from ..stacks.inline import Inline
from ..stacks.locks import StackError
from ..stacks.release_locks import ReleaseLocks
from ..stacks.venv import build
from ..watch import WatchOptions


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
    """A script over releases: locks, environments and runs."""

    script: Path
    words: Sequence[str]
    inline: Inline
    releases: Range
    also: Sequence[str]
    campaign: Campaign
    budget_s: float
    memory_limit_bytes: int | None = None
    options: Sequence[str] = ("--with",)
    """The options of a command that runs the script with the same packages; `--with` is the last."""
    notes: list[str] = field(default_factory=list)
    _text: bytes = b""

    @property
    def out(self) -> Path:
        return self.campaign.out

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
        self._text = self._read()
        releases = [*self.releases.releases, *self.releases.prereleases]
        self.campaign.show(f"locking {self.script.name} with {self.releases.package} {self.releases.versions[-1]}")
        self.release_locks.begin(self.releases.releases, releases)
        for version in {run.member.side for run in self.campaign.runs if run.outcome != NOT_INSTALLABLE}:
            self.release_locks.lock(self.releases.release(version))
        if self.release_locks.younger:
            self.notes.append("its other requirements are younger than these releases, so they are of today")

    def _read(self) -> bytes:
        """The script. A file that is gone reads as empty."""
        try:
            return self.script.read_bytes()
        except FileNotFoundError:
            return b""

    def python(self, version: str) -> Path:
        """The interpreter of a release."""
        return self.out / "stacks" / self.release_locks.path(version).stem / "bin" / "python"

    def _build(self, version: str) -> None:
        """Build the environment of a release, if need be. Raises StackError."""
        python = self.python(version)
        if version not in self.locks or not python.exists():
            self.campaign.show(f"building {self.releases.package} {version}")
            build(self.release_locks.lock(self.releases.release(version)).path, python.parents[1])

    def run(self, member: Member, number: int, block: str) -> Run:
        """Run the script once with a release. Raises MeasuringError, ValueError if it changed."""
        if self._read() != self._text:
            raise ValueError(f"{self.script} has changed since the search began, so its runs cannot be compared")
        version = member.side
        cell = self.cell(member, number, block)
        try:
            ended = self.ended(cell, version)
        except StackError as error:
            return Run(member, number, block, NOT_INSTALLABLE, scripts.one_line(error))
        return Run(member, number, block, ended.outcome, ended.reason, ended.answer, ended.values, ended.started_at,
                   ended.ended_at, str(cell.path))  # fmt: skip

    def cell(self, member: Member, number: int, block: str) -> Cell:
        """The cell of a run."""
        return cell_of("bisect", f"{self.releases.package}-{member.side}", self.script, number, self.words)

    def ended(self, cell: Cell, version: str) -> Ended:
        """A run, measured now. Raises StackError, MeasuringError."""
        self._build(version)
        limits = WatchOptions(timeout_s=self._timeout_s(), memory_limit_bytes=self.memory_limit_bytes)
        masked = [one for one in self.releases.versions if one.count(".") > 1]
        return measure(self.setting(cell, version), self.out / RUNS, masked, limits)

    def setting(self, cell: Cell, version: str) -> Setting:
        """How a release is run. Raises StackError."""
        lock = self.release_locks.lock(self.releases.release(version))
        job = job_of(cell, self.script, self.words)
        return Setting(job, str(self.python(version)), lock.path, self.out / "private")

    def _timeout_s(self) -> float:
        completed = [run.ended_at - run.started_at for run in self.campaign.runs if run.outcome == COMPLETED]
        return PATIENCE * max(completed) + PATIENCE_S if completed else max(self.budget_s, PATIENCE_S)

    @functools.cached_property
    def never_imported(self) -> bool:
        """Whether no completed run imported the package. Processes below the script's are not seen."""
        imports = [
            integrity.imported(str(self.python(run.member.side)), self.releases.package,
                               records.events(self.out / RUNS / run.folder))
            for run in self.campaign.runs
            if run.outcome == COMPLETED
        ]  # fmt: skip
        return bool(imports) and not any(one or one is None for one in imports)


@dataclass
class Bisection:
    """The policy: a search; and of each step, the first prerelease between its sides that has it."""

    search: Search
    releases: Range

    def next(self, runs: Sequence[Run]) -> list[Block]:
        """The next blocks."""
        if blocks := self.search.next(runs):
            return blocks
        early = {release: None for step in self.search.steps() for release in self._looked_at(step)}
        return [Block("prerelease", (Member(self.search.case, release),)) for release in early
                if not any(run.member.side == release for run in runs)][:1]  # fmt: skip

    def _looked_at(self, step: Step) -> Iterator[str]:
        """The prereleases before a step, up to the first that has it."""
        for release in self.releases.between(step.interval.first, step.interval.second):
            yield release.text
            if self._has(release.text, step):
                return

    def early(self, step: Step) -> str:
        """The first prerelease that has a step; empty if none has."""
        return next((one for one in self._looked_at(step) if self._has(one, step)), "")

    def _has(self, release: str, step: Step) -> bool:
        """Whether a release is on the later side of a step."""
        metric, first, second = step.interval.metric, step.first, step.second
        for run in self.search.runs:
            if run.member.side != release:
                continue
            if isinstance(first, str) or isinstance(second, str):
                return word(run, metric) == second
            return metric in run.values and abs(run.values[metric] - second) < abs(run.values[metric] - first)
        return False
