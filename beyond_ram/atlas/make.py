"""Make the atlas: every case with every release of its library, by the search of `bisect`; then the tables."""

import functools
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from ..analysis.rule import searched
from ..bisect.ladder import Ladder, Range
from ..decisions.rule import LOOKS
from ..experiment import Cell
from ..folders import remove
from ..measure.campaign import BLOCKS, RUNS, Campaign
from ..measure.cell import MeasuringError
from ..measure.plan import Member, Run
from ..measure.scripts import Ended, cell_of, read
from ..measure.search import SCREEN, Search
from ..stacks import differences, index
from ..stacks.index import Release
from ..stacks.locks import StackError
from . import tables
from .cases import Case
from .releases import chosen
from .tables import CONFIRMED, NUMBERS, ONCE, REFUTED

TIMEOUT_S = 180.0
"""Time limit of a case without a completed run. Cases take seconds."""
_SEED, _MOST = 0, LOOKS[2]
"""The most runs of each release to confirm a step."""
# Tables are shown elsewhere, and the folder of an atlas can be moved between its runs.
_IN_OUT = re.compile(r"/\S*?(?=/(?:private|stacks)/)")


@dataclass
class CaseLadder(Ladder):
    """A case over releases. Runs of the same lock and script that are on disk are used again."""

    show: Callable[[str], None] = lambda line: None
    measured_runs: int = 0
    """Number of runs that this call measured."""
    _numbers: Counter[tuple[str, Member]] = field(default_factory=Counter)

    def cell(self, member: Member, number: int, block: str) -> Cell:
        """The cell of a run. Two releases that are compared have runs of their own, which follow one another."""
        stack, name = f"{self.releases.package}-{member.side}", "atlas"
        if block != SCREEN:
            name = "-".join(["confirm", *block.split()[-2:]])
            self._numbers[name, member] += 1
            number = self._numbers[name, member]
        return cell_of(name, stack, self.script, number)

    def ended(self, cell: Cell, version: str) -> Ended:
        """A run, from disk or measured now."""
        if existing := read(self.setting(cell, version), self.out / RUNS):
            return existing
        self.show(f"{self.campaign.used_s / 60:.1f} min: {self.script.stem} with {self.releases.package} {version}")
        self.measured_runs += 1
        return super().ended(cell, version)


@dataclass
class Atlas:
    """What to run, and where."""

    cases: Sequence[Case]
    every: Sequence[Case]
    """All cases of the folder. The tables keep lines only for these."""
    out: Path
    months: float
    budget_s: float
    show: Callable[[str], None] = lambda line: None
    out_of_budget: bool = False
    measured_runs: int = 0
    """Number of runs that this call measured."""
    trouble: list[str] = field(default_factory=list)
    """Failed locks and runs, each with its reason."""

    def make(self) -> None:
        """Run everything that is not on disk. Environments are removed when the cases that share them are done."""
        began, releases_of = time.monotonic(), functools.cache(self._releases)
        for ground, group in groupby(sorted(self.cases, key=lambda case: case.ground), key=lambda case: case.ground):
            out = self.out / ground
            out.mkdir(exist_ok=True)
            (out / BLOCKS).unlink(missing_ok=True)
            for case in group:
                used_s = time.monotonic() - began
                if used_s > self.budget_s:
                    self.out_of_budget = True
                    return
                if releases := releases_of(case.library):
                    self._make(case, releases, Campaign(out, _SEED, earlier_s=used_s))
            if not self.out_of_budget:
                for environment in (out / "stacks").glob(f"{case.library}-*"):
                    remove(environment)

    def _releases(self, library: str) -> list[Release]:
        try:
            return chosen(index.releases(library), self.months)
        except StackError as error:
            self.trouble.append(str(error))
            return []

    def _make(self, case: Case, releases: list[Release], campaign: Campaign) -> None:
        """Search a case, and write its lines."""
        listed = Range(case.library, releases, [], [])
        ladder = CaseLadder(case.script, (), case.inline, listed, (), campaign, TIMEOUT_S, show=self.show)
        versions, campaign.once = ladder.releases.versions, ladder.run
        search = Search(case.name, versions, *searched(NUMBERS), _SEED, doubted=versions, most=_MOST, ends_too=False)
        try:
            ladder.begin()
            campaign.run(search, self.budget_s)
        except (StackError, MeasuringError) as error:
            self.trouble.append(f"{case.name}: {error}")
        self.out_of_budget |= campaign.out_of_budget
        self.measured_runs += ladder.measured_runs
        existing = [(one.library, one.name) for one in self.every]
        of = {"library": case.library, "case": case.name}
        cells = [of | {"title": case.title, "date": one.date} | line
                 for one, line in zip(releases, _cells(ladder, search), strict=True)]  # fmt: skip
        steps = [of | line for line in _steps(ladder, search)]
        others = [one for one in existing if one != (case.library, case.name)]
        tables.replace_lines(self.out / tables.CELLS, cells, tables.CELL_COLUMNS, existing)
        tables.replace_lines(self.out / tables.STEPS, steps, tables.STEP_COLUMNS, others)


def _steps(ladder: Ladder, search: Search) -> Iterator[tables.Line]:
    """The steps, and what the screen suspects else."""
    steps, pairs = search.steps(), {(pair.first, pair.second): pair for pair in search.pairs}
    seen = [(step, CONFIRMED) for step in steps]
    for one in search.followed:
        if one not in [step.interval for step in steps]:
            pair = pairs.get((one.first, one.second))
            seen.append((search.screen.step(one), REFUTED if pair and search.decisions(pair) else ONCE))
    for step, state in seen:
        sides = {"from": step.interval.first, "to": step.interval.second}
        old, new = (ladder.locks[version].pins for version in sides.values())
        dates = {f"{name}_date": ladder.releases.release(version).date for name, version in sides.items()}
        moved = differences.moved(old, new, {ladder.releases.package})
        yield tables.step_line(step, state) | dates | {"moved": moved}


def _cells(ladder: Ladder, search: Search) -> Iterator[tables.Line]:
    """A line per release."""
    for version in search.sides:
        runs = [run for run in search.runs if run.member.side == version] if version not in search.skipped else []
        line: tables.Line = {"version": version, "runs": len(runs), "outcome": "not run"}
        if version in search.skipped:
            line |= {"outcome": "cannot be installed", "reason": search.skipped[version]}
        if runs:
            answers, reasons = {run.answer for run in runs if run.answer}, [run.reason for run in runs if run.reason]
            line |= {
                "outcome": " or ".join(sorted({run.outcome for run in runs})),
                "reason": _IN_OUT.sub("…", reasons[-1]) if reasons else None,
                "answer": min(answers)[:12] if len(answers) == 1 else None, "moved": ladder.locks[version].moved,
                **{metric: _median(runs, metric) for metric in NUMBERS},
            }  # fmt: skip
        yield line


def _median(runs: Sequence[Run], metric: str) -> float | None:
    values = [run.values[metric] for run in runs if metric in run.values]
    return statistics.median(values) if values else None
