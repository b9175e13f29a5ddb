"""Runs of a gate, one at a time: baseline and candidate in turn (ABBA), repeat 1 of every cell before any repeat 2."""

import dataclasses
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ..analysis.frame import key as key_of
from ..analysis.runs import runs as table_of
from ..analysis.sequential import AT, look, undecided
from ..experiment import Cell, Config
from ..metrics.runs import FAILED
from ..run_files import RUN_FILES
from ..tables import read_run
from ..weighing import processes
from .sides import BASELINE, CANDIDATE, Side, name_of


@dataclass(frozen=True)
class Weighing:
    """What a gate's runs have come to."""

    runs: pd.DataFrame
    comparisons: pd.DataFrame
    used_s: float
    """Spent on weighing."""


class Runs:
    """The runs so far, as table `runs`."""

    def __init__(self, config: Config, sides: Mapping[tuple[str, str], Side], out: Path) -> None:
        self.config, self.sides, self.out = config, sides, out
        self._records: list[Any] = []
        self._failed: list[dict[str, Any]] = []

    def weigh(self, cell: Cell, side: str, repeat: int) -> None:
        """Weigh one run. One that fails is a line as well; what it said is in its log. Repeat 0 is not kept."""
        base = str(cell["stack"])
        stack = self.sides[base, side]
        one = dataclasses.replace(cell.replace(stack=stack.stack), rep=repeat)
        results = Path(self.config.results)
        job = self.config.job(one)
        log = results / "logs" / f"{one.path}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        words = [sys.executable, "-m", "beyond_ram", "weigh", f"--runs={results / 'runs'}"]
        words += [f"--work={results / 'private'}", f"--python={stack.python}", f"--lock={stack.lock}"]
        words += [job.model_dump_json(exclude_defaults=True)]
        # The first run of a stack leaves its bytecode for the others, whatever the environment says.
        shell = f"unset PYTHONDONTWRITEBYTECODE; exec {shlex.join(words)} 2> {shlex.quote(str(log))}"
        status, _ = processes.run(["sh", "-c", shell])
        record = results / "runs" / one.path / RUN_FILES[2]
        if status < 0:
            raise RuntimeError(f"{one.path}: ended with {processes.ending(status)}")
        if not repeat:
            return
        if status == 0:
            self._records.append(read_run(record))
            return
        said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        self._failed.append(
            {**one.parameters(), "workload": job.workload, "outcome": "failed", "completed_work": False, FAILED: 1.0}
            | {"reason": _reason(said)}
        )

    def table(self) -> pd.DataFrame:
        """Table `runs`."""
        found = table_of(self._records) if self._records else pd.DataFrame()
        return pd.concat([found, pd.DataFrame(self._failed)], ignore_index=True) if self._failed else found


def _reason(said: Sequence[str]) -> str:
    """What a failed run said last before weighing gave up on it."""
    own = [line.strip() for line in said if line.strip() and not line.startswith("beyond-ram: ")]
    return (own or list(said) or ["it said nothing"])[-1][:300]


def order(cells: Sequence[Cell], repeat: int) -> list[tuple[Cell, str]]:
    """The runs of one repeat: odd ones begin with the baseline, even ones with the candidate."""
    sides = (BASELINE, CANDIDATE) if repeat % 2 else (CANDIDATE, BASELINE)
    return [(cell, side) for cell in cells for side in sides]


def decide(
    cells: Sequence[Cell],
    runs: Runs,
    budget_s: float,
    tell: Callable[[str], None] = lambda line: None,
    clock: Callable[[], float] = time.monotonic,
) -> Weighing:
    """Weigh until each metric is decided, the last look is over, or another repeat would not fit into the budget."""
    bases = dict.fromkeys(str(cell["stack"]) for cell in cells)
    pairs = [(name_of(base, BASELINE), name_of(base, CANDIDATE)) for base in bases]
    keys = {cell: key_of(cell.replace(stack=name_of(str(cell["stack"]), CANDIDATE)).parameters()) for cell in cells}
    left, known, looked, repeat, took = list(cells), None, 0, 0, dict.fromkeys(cells, 0.0)
    used = 0.0
    for cell, side in order(cells, 0):
        tell(f"first run, not weighed: {cell.experiment}, {side}")
        began = clock()
        runs.weigh(cell, side, 0)
        used += clock() - began  # longer than a weighed one, so no estimate of it
    while left and repeat < AT[-1]:
        if repeat and used + sum(took[cell] for cell in left) > budget_s:
            break
        repeat += 1
        for number, (cell, side) in enumerate(order(left, repeat), 1):
            tell(
                f"repeat {repeat}, run {number} of {2 * len(left)}: {cell.experiment}, {side}; "
                f"{used / 60:.1f} of {budget_s / 60:g} min"
            )
            began = clock()
            runs.weigh(cell, side, repeat)
            spent = clock() - began
            used, took[cell] = used + spent, spent + (took[cell] if number % 2 == 0 else 0.0)
        if repeat in AT:
            known, looked = look(known, runs.table(), pairs), repeat
            open_ = undecided(known)
            seen = {key_of(line) for line in known.to_dict("records")}
            left = [cell for cell in left if keys[cell] in open_ or (keys[cell] not in seen and repeat < AT[1])]
    table = runs.table()
    if known is None or looked != repeat:
        known = look(known, table, pairs)
    return Weighing(table, known, used)
