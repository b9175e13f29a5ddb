"""Runs of a gate: baseline and candidate of each cell, in an order that is drawn, until each metric is decided."""

import dataclasses
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from ..analysis.frame import key as key_of
from ..analysis.runs import runs as table_of
from ..decisions.rule import LOOKS, fewest_for, turns
from ..experiment import Cell, Config, records
from ..files import end_of
from ..measure import processes
from ..measure.campaign import Campaign
from ..measure.cell import Setting, write_failed
from ..measure.cells import call
from ..measure.plan import Block, Member, Run
from ..text import foreign, last_line
from .decided import Comparisons
from .sides import BASELINE, CANDIDATE, SIDES, BuiltSide, name_of

# A run has at least these seconds, also where the budget is used up.
LEAST_S = 10.0
SHORT_S, FEWEST_SHORT = 45.0, 8
"""Where eight runs of each side take at most 45 s in all, `same` needs eight."""
_FIRST = ", not measured"
"""The end of the name of a side in a run that loads its environment from disk, for all cells."""


def cases(cells: Sequence[Cell]) -> dict[str, Cell]:
    """The cells by a short name."""
    names = [cell.experiment for cell in cells]
    return {cell.experiment if names.count(cell.experiment) == 1 else cell.path: cell for cell in cells}


def measured(runs: Iterable[Run]) -> list[Run]:
    """The runs that are compared."""
    return [run for run in runs if not run.member.side.endswith(_FIRST)]


@dataclasses.dataclass
class GateRuns:
    """Measures runs, and reads them."""

    config: Config
    cells: Sequence[Cell]
    sides: Mapping[tuple[str, str], BuiltSide]
    campaign: Campaign
    budget_s: float
    _records: dict[str, Any] = dataclasses.field(default_factory=dict)

    def _cell(self, member: Member, repeat: int) -> tuple[Cell, BuiltSide]:
        cell, side = cases(self.cells)[member.case], member.side.removesuffix(_FIRST)
        stack = self.sides[str(cell["stack"]), side]
        return dataclasses.replace(cell.replace(stack=stack.stack), rep=repeat), stack

    def once(self, member: Member, number: int, block: str) -> Run:
        """Measure one run, in the time that is left; its output is in its log. One that fails is a record."""
        cell, stack = self._cell(member, 0 if member.side.endswith(_FIRST) else number)
        job, results, began = self.config.job(cell), Path(self.config.results), time.time()
        left_s = max(self.budget_s - self.campaign.used_s, LEAST_S)
        job = job.but(timeout_s=min(filter(None, (job.timeout_s, self.campaign.patience_s, left_s))))
        status, log = call(results, [job], {"python": stack.python, "lock": str(stack.lock)})
        if status < 0:
            raise RuntimeError(f"{cell.path}: ended with {processes.ending(status)}")
        if status:
            setting = Setting(job, stack.python, stack.lock, results / "private")
            write_failed(setting, results / "runs" / cell.path, last_line(end_of(log), processes.ending(status)))
        outcome = str(self._record(cell.path)[0]["outcome"])
        return Run(member, number, block, outcome, "", None, {}, began, time.time(), cell.path)

    def _record(self, folder: str) -> Any:
        if folder not in self._records:
            self._records[folder] = records.run(Path(self.config.results, "runs", folder))
        return self._records[folder]

    def table(self, runs: Iterable[Run]) -> pd.DataFrame:
        """Table `runs` of the runs that are compared."""
        read = [self._record(run.folder) for run in measured(runs)]
        table = table_of(read) if read else pd.DataFrame()
        if "reason" in table:  # a program may say why it cannot run
            table["reason"] = [foreign(why) if isinstance(why, str) else why for why in table["reason"]]
        return table


class GatePolicy:
    """The policy: both sides of each open cell in turn, up to the next look, at which all cells are decided together.

    `table` makes table `runs`; `rare`: `same` would have seen a change in this share of the runs.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        table: Callable[[Iterable[Run]], pd.DataFrame],
        seed: int,
        rare: float | None = None,
    ) -> None:
        self.cases, self._table, self.seed, self._rare = cases(cells), table, seed, rare
        bases = dict.fromkeys(str(cell["stack"]) for cell in cells)
        self.comparisons = Comparisons([(name_of(base, BASELINE), name_of(base, CANDIDATE)) for base in bases])
        candidates = {
            name: cell.replace(stack=name_of(str(cell["stack"]), CANDIDATE)) for name, cell in self.cases.items()
        }
        self._keys = {name: key_of(cell.parameters()) for name, cell in candidates.items()}
        self._open, self._looked = list(self.cases), 0

    def next(self, runs: Sequence[Run]) -> list[Block]:
        """The next blocks: a round of each open cell, in random order."""
        if first := self._first(runs):
            return first
        look = next((look for look in LOOKS if look > self._looked), LOOKS[-1])
        while self._open and look > self._looked and all(self._rounds(runs, name) >= look for name in self._open):
            self._look(runs, look)
            look = next((later for later in LOOKS if later > look), look)
        waiting = [name for name in self._open if self._rounds(runs, name) < look]
        random.Random(f"{self.seed} {len(runs)}").shuffle(waiting)
        return [self._round(runs, name) for name in waiting]

    def _first(self, runs: Sequence[Run]) -> list[Block]:
        """A run of both sides of each stack that is not measured, so that its files are in the page cache."""
        first, ran = (
            {str(cell["stack"]): name for name, cell in reversed(self.cases.items())},
            {run.member for run in runs},
        )
        both = [tuple(Member(name, f"{side}{_FIRST}") for side in SIDES) for name in first.values()]
        blocks = [Block("first run", members, must=True) for members in both if not ran.issuperset(members)]
        random.Random(self.seed).shuffle(blocks)
        return blocks

    def _round(self, runs: Sequence[Run], name: str) -> Block:
        number, ran = self._rounds(runs, name) + 1, {run.member for run in measured(runs)}
        members = tuple(Member(name, SIDES[at]) for at, _ in turns(2, number, self.seed))
        return Block(f"round {number}", members, must=not {Member(name, side) for side in SIDES} <= ran)

    @staticmethod
    def _rounds(runs: Sequence[Run], name: str) -> int:
        return sum(run.member.case == name for run in measured(runs)) // 2

    def _look(self, runs: Sequence[Run], n: int) -> None:
        run_s = fmean(run.ended_at - run.started_at for run in measured(runs) if run.number <= n)
        short = 2 * FEWEST_SHORT * len(self.cases) * run_s <= SHORT_S
        fewest = fewest_for(self._rare) if self._rare else FEWEST_SHORT if short else LOOKS[0]
        undecided = self.comparisons.look(self._table(runs), n, fewest)
        self._open = [name for name in self._open if self._keys[name] in undecided]
        self._looked = n

    def comparisons_of(self, runs: Sequence[Run]) -> pd.DataFrame:
        """Table `comparisons` after the last run. What the budget has left out is undecided."""
        most = max((self._rounds(runs, name) for name in self._open), default=0)
        for look in (look for look in LOOKS if self._looked < look <= most):
            self._look(runs, look)
        if not self.comparisons.decided and measured(runs):
            self.comparisons.look(self._table(runs), max(run.number for run in measured(runs)))
        return self.comparisons.table()
