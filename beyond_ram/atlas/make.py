"""Make the atlas: every case with every release of its library, by the search of `measure`; then the tables."""

import functools
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import groupby
from pathlib import Path

from ..analysis.rule import searched
from ..decisions.rule import LOOKS
from ..files import DamagedError
from ..folders import remove
from ..measure.campaign import OtherQuestionError, opened
from ..measure.cell import MeasuringError
from ..measure.releases import Ladder, Range
from ..measure.search import Search
from ..measure.searched import Searched, name_of
from ..stacks import index
from ..stacks.index import Release
from ..stacks.locks import StackError
from . import tables
from .cases import Case
from .releases import chosen
from .tables import NUMBERS

TIMEOUT_S = 180.0
"""Time limit of a case without a completed run. Cases take seconds."""
_SEED, _MOST = 0, LOOKS[2]
"""The most runs of each release to confirm a step."""
# Tables are shown elsewhere, and the folder of an atlas can be moved between its runs.
_IN_OUT = re.compile(r"/\S*?(?=/(?:private|stacks)/)")


@dataclass
class Atlas:
    """Runs cases below a folder, each as a campaign that a later call goes on with, also for newer releases."""

    out: Path
    budget_s: float
    """Of one call."""
    show: Callable[[str], None]
    out_of_budget: bool = False
    runs: int = 0
    """Number of runs of this call."""
    trouble: list[str] = field(default_factory=list)
    """What could not be done, each with its reason."""

    def make(self, cases: Sequence[Case], every: Sequence[Case]) -> None:
        """Run what is missing, and write the tables, which keep lines for `every` case.

        Cases with the same requirements share environments, which are removed when these cases are done.
        """
        ends_at, releases_of = time.monotonic() + self.budget_s, functools.cache(self._releases)
        existing = [(one.library, one.name) for one in every]
        for folder, group in groupby(sorted(cases, key=lambda case: case.folder), key=lambda case: case.folder):
            for case in group:
                if self.out_of_budget:
                    return
                if releases := releases_of(case.library):
                    try:
                        self._make(case, releases, self.out / folder, ends_at, existing)
                    except (StackError, MeasuringError, OtherQuestionError, DamagedError) as error:
                        self.trouble.append(f"{case.name}: {error}")
            for environment in (self.out / folder / "stacks").glob(f"{case.library}-*"):
                remove(environment)

    def _releases(self, library: str) -> list[Release]:
        try:
            return chosen(index.releases(library))
        except StackError as error:
            self.trouble.append(str(error))
            return []

    def _make(
        self, case: Case, releases: list[Release], folder: Path, ends_at: float, existing: list[tables.CaseKey]
    ) -> None:
        question = {"command": "atlas", "script_sha256": sha256(case.script.read_bytes()).hexdigest()}
        with opened(folder / "campaigns" / case.name, question, _SEED) as campaign:
            campaign.show, before = self.show, len(campaign.runs)
            ladder = Ladder(case.script, (), case.inline, Range(case.library, releases, []), (), campaign,
                            TIMEOUT_S, out=folder)  # fmt: skip
            versions, campaign.once = ladder.releases.versions, ladder.run
            search = Search(case.name, versions, *searched(NUMBERS), _SEED, doubted=versions, most=_MOST,
                            ends_too=False)  # fmt: skip
            try:
                ladder.begin()
                campaign.run(search, campaign.used_s + max(0.0, ends_at - time.monotonic()))
            finally:
                self.out_of_budget |= campaign.out_of_budget
                self.runs += len(campaign.runs) - before
                of = {"library": case.library, "case": case.name}
                result = Searched(search, ladder)
                cells = [of | {"title": case.title, "date": one.date} | line
                         for one, line in zip(releases, _cells(result), strict=True)]  # fmt: skip
                steps = [of | line for line in _steps(result)]
                others = [one for one in existing if one != (case.library, case.name)]
                tables.replace_lines(self.out / tables.CELLS, cells, tables.CELL_COLUMNS, existing)
                tables.replace_lines(self.out / tables.STEPS, steps, tables.STEP_COLUMNS, others)


def _steps(result: Searched) -> Iterator[tables.AtlasLine]:
    for step in result.steps:
        line, sides = step.line, {"from": step.interval.first, "to": step.interval.second}
        dates = {f"{name}_date": result.ladder.releases.release(version).date for name, version in sides.items()}
        line |= dates | {"moved": result.moved_between(*sides.values())}
        yield line | {"size": tables.strength(line), "measured": name_of(step.interval.metric)}


def _cells(result: Searched) -> Iterator[tables.AtlasLine]:
    """A line per release."""
    skipped = result.search.skipped
    for version in result.search.sides:
        runs = [] if version in skipped else result.runs.get(version, [])
        line: tables.AtlasLine = {"version": version, "runs": len(runs), "outcome": "not run"}
        if version in skipped:
            line |= {"outcome": "cannot be installed", "reason": skipped[version]}
        if runs:
            answers, reasons = result.answers(version), [run.reason for run in runs if run.reason]
            line |= result.values(version) | {
                "outcome": result.outcome(version), "reason": _IN_OUT.sub("…", reasons[-1]) if reasons else None,
                "answer": answers[0][:12] if len(answers) == 1 else None, "moved": result.ladder.locks[version].moved,
            }  # fmt: skip
        yield line
