"""Run cases with the same requirements over releases of their library. Existing runs are read from disk."""

import re
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..folders import remove
from ..measure.cell import Setting
from ..measure.plan import Member, Run
from ..measure.scripts import cell_of, job_of, measure, read
from ..stacks import scripts
from ..stacks.index import Release
from ..stacks.locks import StackError
from ..stacks.release_locks import ReleaseLocks
from ..stacks.venv import build
from ..watch import WatchOptions
from .cases import Case

AGAIN = "@again"
"""Suffix of a version: the same release in a second environment. All differences between the two are false."""
TIMEOUT_S = 180.0
"""Time limit of a case in seconds. Cases take seconds; a case that reaches the limit has this as its outcome."""

# Tables are shown elsewhere, and the folder of an atlas can be moved between its runs.
_IN_OUT = re.compile(r"/\S*?(?=/(?:private|stacks)/(?:atlas|confirm)/)")


class NotInstallableError(RuntimeError):
    """A release that cannot be installed beside the rest; the text is the reason."""


class SpentError(RuntimeError):
    """The budget is used up."""


@dataclass
class Bench:
    """The locks, environments and runs of some cases."""

    ground: str
    """The requirements of the cases, as a folder name."""
    cases: Sequence[Case]
    releases: Sequence[Release]
    """Oldest first."""
    out: Path
    check: Callable[[str], None] = lambda what: None
    """Called before each build and run, with a line that describes it. Raises SpentError."""
    uninstallable: dict[str, str] = field(default_factory=dict)
    """The reason for each version that cannot be installed."""
    reasons: dict[tuple[str, str], str] = field(default_factory=dict)
    """By case and version, the last line of a failed run."""
    measured_runs: int = 0
    """Number of runs that this call measured."""

    def __post_init__(self) -> None:
        self.release_locks = ReleaseLocks(self.library, self.cases[0].inline, self.out / "locks" / self.ground)

    @property
    def library(self) -> str:
        return self.cases[0].library

    def begin(self) -> None:
        """Lock all other packages. Raises StackError, SpentError."""
        if not self.release_locks.is_begun:
            self.check(f"locking {self.ground}")
        self.release_locks.begin(self.releases, self.releases)

    def run(self, case: Case, label: str, number: int, experiment: str = "atlas") -> Run:
        """A run of a case with a release, read from disk or measured now. A label is a version, with or without AGAIN.

        Raises NotInstallableError, SpentError, MeasuringError.
        """
        version = label.partition("@")[0]
        if not self.release_locks.path(version).is_file():
            self.check(f"locking {self.library} {version}")
        setting = self._setting(case, label, version, number, experiment)
        ended = read(setting, self.out / "runs")
        if ended is None:
            self._build(version, label, experiment)
            self.check(f"{case.name} with {self.library} {label}")
            masked = [one.text for one in self.releases if one.text.count(".") > 1]
            ended = measure(setting, self.out / "runs", masked, WatchOptions(timeout_s=TIMEOUT_S))
            self.measured_runs += 1
        if ended.reason:
            self.reasons[case.name, version] = _IN_OUT.sub("…", ended.reason.replace(str(self.out), "…"))
        return Run(Member(case.name, label), number, experiment, ended.outcome, ended.reason, ended.answer,
                   ended.values, ended.started_at, ended.ended_at)  # fmt: skip

    def _setting(self, case: Case, label: str, version: str, number: int, experiment: str) -> Setting:
        try:
            lock = self.release_locks.lock(self._release(version))
        except StackError as error:
            self.uninstallable[version] = scripts.reason(error)
            raise NotInstallableError(self.uninstallable[version]) from None
        cell = cell_of(experiment, f"{self.library}-{label}", case.script, number)
        python = self._folder(label, experiment) / "bin" / "python"
        return Setting(job_of(cell, case.script, ()), str(python), lock.path, self.out / "private")

    def _build(self, version: str, label: str, experiment: str) -> None:
        folder = self._folder(label, experiment)
        if (folder / "bin" / "python").exists():
            return
        self.check(f"building {self.library} {label}")
        try:
            build(self.release_locks.lock(self._release(version)).path, folder)
        except StackError as error:
            self.uninstallable[version] = scripts.reason(error)
            raise NotInstallableError(self.uninstallable[version]) from None

    def _folder(self, label: str, experiment: str) -> Path:
        return self.out / "stacks" / experiment / self.ground / f"{self.library}-{label}"

    def _release(self, version: str) -> Release:
        return next(one for one in self.releases if one.text == version)

    def clear(self, experiment: str) -> None:
        """Delete the environments of an experiment."""
        for folder in (self.out / "stacks" / experiment / self.ground).glob(f"{self.library}-*"):
            remove(folder)


def median(runs: Sequence[Run], metric: str) -> float | None:
    """The median of a metric over the runs that have it."""
    values = [run.values[metric] for run in runs if metric in run.values]
    return statistics.median(values) if values else None
