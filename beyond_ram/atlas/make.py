"""Make the atlas: run every case with every release of its library, repeat the steps, write the tables."""

import functools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from pathlib import Path

from ..measure.cell import MeasuringError
from ..measure.order import Block, order
from ..measure.plan import Run
from ..measure.screen import Step
from ..stacks import differences, index
from ..stacks.index import Release
from ..stacks.locks import StackError
from . import steps, tables
from .bench import AGAIN, Bench, NotInstallableError, SpentError, median
from .cases import Case
from .releases import chosen

_SEED = 0


@dataclass
class Atlas:
    """What to run, and where."""

    cases: Sequence[Case]
    every: Sequence[Case]
    """All cases of the folder. The tables keep lines only for these."""
    out: Path
    months: float
    until: datetime | None
    budget_s: float
    report_progress: Callable[[str], None] = lambda line: None
    clock: Callable[[], float] = time.monotonic
    spent: bool = False
    """Whether the budget ran out."""
    measured_runs: int = 0
    """Number of runs that this call measured."""
    trouble: list[str] = field(default_factory=list)
    """Failed locks and runs, each with its reason."""
    _began: float = 0.0

    def make(self) -> None:
        """Run everything that is not on disk: first the newest patches of all cases, then the other releases."""
        self._began = self.clock()
        listed = {library: self._listed(library) for library in dict.fromkeys(case.library for case in self.cases)}
        for stage in (1, 2):
            benches = list(self._benches(listed, stage))
            for bench in sorted(benches, key=lambda one: len(one.releases) * len(one.cases)):
                self._make(bench, listed[bench.library])

    def _listed(self, library: str) -> list[list[Release]]:
        try:
            return chosen(index.releases(library), self.months, self.until)
        except StackError as error:
            self.trouble.append(str(error))
            return [[], []]

    def _benches(self, listed: dict[str, list[list[Release]]], stage: int) -> Iterator[Bench]:
        by_ground = sorted(self.cases, key=lambda case: case.ground)
        for ground, group in groupby(by_ground, key=lambda case: case.ground):
            own = list(group)
            releases = {one.version: one for stage_releases in listed[own[0].library][:stage] for one in stage_releases}
            further = bool(listed[own[0].library][1])
            if releases and (stage == 1 or further):
                ordered = [releases[version] for version in sorted(releases)]
                yield Bench(ground, own, ordered, self.out, self._check)

    def _check(self, what: str) -> None:
        used_s = self.clock() - self._began
        if used_s > self.budget_s:
            raise SpentError
        limit = f" of {self.budget_s / 60:g}" if self.budget_s < float("inf") else ""
        self.report_progress(f"{used_s / 60:.1f}{limit} min: {what}")

    def _make(self, bench: Bench, newest_first: list[list[Release]]) -> None:
        """Run the missing cells of a bench and write its lines. Without budget, write the lines of the runs on disk."""
        runs: dict[str, dict[str, list[Run]]] = {case.name: {} for case in bench.cases}
        seen: dict[str, list[steps.Seen]] = {}
        try:
            bench.begin()
            self._pass(bench, runs)
            seen = {case.name: self._steps(bench, case, runs[case.name]) for case in bench.cases}
        except SpentError:
            self.spent = True
        except StackError as error:
            self.trouble.append(f"{bench.ground}: {error}")
        if not self.spent:
            bench.clear("atlas")
            bench.clear("confirm")
        self.measured_runs += bench.measured_runs
        newest = {release.text for release in newest_first[0]}
        for case in bench.cases:
            self._write(bench, case, runs[case.name], seen.get(case.name, []), newest)

    def _pass(self, bench: Bench, runs: dict[str, dict[str, list[Run]]]) -> None:
        """Run every case with every release in rounds, and the newest release under a second name too."""
        by_name = {case.name: case for case in bench.cases}
        blocks = [Block(name, tuple((name, label) for label in _labels(bench))) for name in by_name]
        for number in range(1, steps.RUNS + 1):
            for name, label in order(blocks, number, _SEED):
                try:
                    runs[name].setdefault(label, []).append(bench.run(by_name[name], label, number))
                except SpentError:
                    self.spent = True
                except NotInstallableError:
                    continue
                except MeasuringError as error:
                    self.trouble.append(str(error))
        for of_case in runs.values():
            for label in [label for label, own in of_case.items() if not own]:
                del of_case[label]

    def _steps(self, bench: Bench, case: Case, runs: dict[str, list[Run]]) -> list[steps.Seen]:
        """The steps of a case, each repeated if the budget allows."""
        pairs: dict[tuple[str, str], list[Step]] = {}
        for step in steps.neighbours(runs, _labels(bench)):
            pairs.setdefault((step.interval.first, step.interval.second), []).append(step)
        seen = list[steps.Seen]()
        for own in pairs.values():
            try:
                seen += steps.repeat(own, functools.partial(self._again, bench, case), _SEED, 1 / len(pairs))
            except SpentError:
                self.spent = True
                seen += steps.once(own)
            except MeasuringError as error:
                self.trouble.append(str(error))
                seen += steps.once(own)
        return seen

    @staticmethod
    def _again(bench: Bench, case: Case, label: str, number: int) -> Run:
        return bench.run(case, label, number, "confirm")

    def _write(self, bench: Bench, case: Case, runs: dict[str, list[Run]], seen: Sequence[steps.Seen],
               newest: set[str]) -> None:  # fmt: skip
        of = {"library": bench.library, "case": case.name}
        dates = {release.text: release.date for release in bench.releases}
        cells: list[tables.Line] = [
            of | {"title": case.title, "version": release.text, "date": release.date,
                  "newest_patch": release.text in newest} | _cell(bench, case, release.text, runs.get(release.text, []))
            for release in bench.releases
        ]  # fmt: skip
        cells += [
            of | {"title": case.title, "version": label, "outcome": own[0].outcome, "runs": len(own), **_medians(own)}
            for label, own in runs.items()
            if AGAIN in label
        ]
        lines = []
        for one in seen:
            line = of | tables.step_line(one, false=steps.is_false(one.step))
            line |= {f"{side}_date": dates[line[f"{side}_version"]] for side in ("from", "to")}
            old, new = (bench.release_locks.locks[line[f"{side}_version"]].pins for side in ("from", "to"))
            lines.append(line | {"moved": differences.moved(old, new, {bench.library})})
        existing = [(one.library, one.name) for one in self.every]
        tables.replace_lines(self.out / tables.CELLS, cells, tables.CELL_COLUMNS, existing)
        others = [one for one in existing if one != (bench.library, case.name)]
        tables.replace_lines(self.out / tables.STEPS, lines, tables.STEP_COLUMNS, others)


def _labels(bench: Bench) -> list[str]:
    versions = [release.text for release in bench.releases]
    return [*versions, versions[-1] + AGAIN]


def _cell(bench: Bench, case: Case, version: str, runs: Sequence[Run]) -> tables.Line:
    if not runs:
        why = bench.uninstallable.get(version)
        return {"outcome": "cannot be installed" if why else "not run", "reason": why, "runs": 0}
    answers = {run.answer for run in runs if run.answer}
    return {
        "outcome": " or ".join(sorted({run.outcome for run in runs})), "runs": len(runs),
        "reason": bench.reasons.get((case.name, version)), "answer": min(answers)[:12] if len(answers) == 1 else None,
        "moved": bench.release_locks.locks[version].moved, **_medians(runs),
    }  # fmt: skip


def _medians(runs: Sequence[Run]) -> tables.Line:
    return {metric: median(runs, metric) for metric in steps.METRICS[:4]}
