"""The runs of a gate: each is measured as its side has it, and read."""

import dataclasses
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ..analysis.frame import key
from ..analysis.runs import runs as table_of
from ..experiment import Cell, Config, records
from ..files import end_of
from ..measure import processes
from ..measure.campaign import Campaign
from ..measure.cell import Setting, write_failed
from ..measure.cells import call
from ..measure.gate import BASELINE, CANDIDATE, FIRST, GatePolicy, measured
from ..measure.plan import Member, Run
from ..metrics import derive
from ..text import foreign, last_line
from .decided import comparisons, values_of
from .sides import BuiltSide, name_of

# A run has at least these seconds, also where the budget is used up.
LEAST_S = 10.0


def cases(cells: Sequence[Cell]) -> dict[str, Cell]:
    """The cells by a short name."""
    names = [cell.experiment for cell in cells]
    return {cell.experiment if names.count(cell.experiment) == 1 else cell.path: cell for cell in cells}


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
        cell, side = cases(self.cells)[member.case], member.side.removesuffix(FIRST)
        stack = self.sides[str(cell["stack"]), side]
        return dataclasses.replace(cell.replace(stack=stack.stack), rep=repeat), stack

    def once(self, member: Member, number: int, block: str) -> Run:
        """Measure one run, in the time that is left; its output is in its log. One that fails is a record."""
        cell, stack = self._cell(member, 0 if member.side.endswith(FIRST) else number)
        job, results, began = self.config.job(cell), Path(self.config.results), time.time()
        left_s = max(self.budget_s - self.campaign.used_s, LEAST_S)
        job = job.but(timeout_s=min(filter(None, (job.timeout_s, self.campaign.patience_s, left_s))))
        status, log = call(results, [job], {"python": stack.python, "lock": str(stack.lock)})
        if status < 0:
            raise RuntimeError(f"{cell.path}: ended with {processes.ending(status)}")
        if status:
            setting = Setting(job, stack.python, stack.lock, results / "private")
            write_failed(setting, results / "runs" / cell.path, last_line(end_of(log), processes.ending(status)))
        record, events = self._record(cell.path)
        # Runs with an injected fault are not compared.
        compared = record["cell"].get("fault", "none") == "none"
        numbers = derive(record, events) if compared else {}
        values = values_of(record["workload"], record["completed_work"], numbers)
        return Run(member, number, block, str(record["outcome"]), "", None, values, began, time.time(), cell.path)

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

    def comparisons(self, policy: GatePolicy) -> pd.DataFrame:
        """Table `comparisons` of the runs so far."""
        policy.end(self.campaign.runs)
        bases = dict.fromkeys(policy.stacks.values())
        own = {key(cell.replace(stack=name_of(policy.stacks[name], CANDIDATE)).parameters()): name
               for name, cell in cases(self.cells).items()}  # fmt: skip
        pairs = [(name_of(base, BASELINE), name_of(base, CANDIDATE)) for base in bases]
        return comparisons(policy.decided, self.table(self.campaign.runs), pairs, own)
