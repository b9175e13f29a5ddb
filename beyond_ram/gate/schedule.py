"""Runs of a gate: baseline and candidate of each cell in turn, until each metric is decided or the budget is used."""

import dataclasses
import secrets
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from ..analysis.frame import key as key_of
from ..analysis.runs import runs as table_of
from ..decisions.rule import LOOKS, fewest_for
from ..experiment import Cell, Config, records
from ..files import end_of
from ..metrics.runs import FAILED
from ..rounds import Block, order, run
from ..run_files import RUN_FILES
from ..text import foreign, last_line
from ..weighing import processes
from ..weighing.scripts import PATIENCE, PATIENCE_S
from .decided import Comparisons
from .sides import BASELINE, CANDIDATE, SIDES, Side, name_of

# A run has at least these seconds, also where the budget is used up.
LEAST_S = 10.0
SHORT_S, FEWEST_SHORT = 45.0, 8
"""Where eight runs of each side take at most 45 s in all, `same` needs eight."""


@dataclass(frozen=True)
class Weighing:
    """The results of a gate's runs."""

    runs: pd.DataFrame
    comparisons: pd.DataFrame
    used_s: float
    """Spent on weighing."""
    seed: int
    """Seed of the order of the runs."""


class Runs:
    """The runs so far, as table `runs`."""

    def __init__(self, config: Config, sides: Mapping[tuple[str, str], Side], out: Path) -> None:
        self.config, self.sides, self.out = config, sides, out
        self._records: list[Any] = []
        self._failed: list[dict[str, Any]] = []
        self._longest_s = 0.0

    @property
    def _patience_s(self) -> float | None:
        return PATIENCE * self._longest_s + PATIENCE_S if self._longest_s else None

    def weigh(self, cell: Cell, side: str, repeat: int, left_s: float) -> None:
        """Measure one run. A failed run is a line too; its output is in its log. Repeat 0 is not kept.

        `left_s`: seconds left of the budget. The run is ended then, or after many times the longest completed run.
        """
        base = str(cell["stack"])
        stack = self.sides[base, side]
        one = dataclasses.replace(cell.replace(stack=stack.stack), rep=repeat)
        results = Path(self.config.results)
        job = self.config.job(one)
        job = job.but(timeout_s=min(filter(None, (job.timeout_s, self._patience_s, max(left_s, LEAST_S)))))
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
            self._records.append(records.run(record.parent))
            if self._records[-1][0]["outcome"] == "completed":
                self._longest_s = max(self._longest_s, self._records[-1][0]["duration_s"])
            return
        self._failed.append(
            {
                **one.parameters(),
                "workload": job.workload,
                "outcome": "failed",
                "completed_work": False,
                FAILED: 1.0,
            }
            | {"reason": _reason(end_of(log))}
        )

    def table(self) -> pd.DataFrame:
        """Table `runs`."""
        table = table_of(self._records) if self._records else pd.DataFrame()
        table = pd.concat([table, pd.DataFrame(self._failed)], ignore_index=True) if self._failed else table
        if "reason" in table:  # a program may say why it cannot run
            table["reason"] = [foreign(why) if isinstance(why, str) else why for why in table["reason"]]
        return table


def _reason(printed: str) -> str:
    """The last line that a failed run printed itself."""
    own = "\n".join(line for line in printed.splitlines() if not line.startswith("beyond-ram: "))
    return last_line(own, last_line(printed, "it printed nothing"))


def blocks_of(cells: Sequence[Cell]) -> dict[Cell, Block[tuple[Cell, str]]]:
    """Both sides of each cell, which run one directly after the other."""
    return {cell: Block(cell.path, tuple((cell, side) for side in SIDES)) for cell in cells}


class Looks:
    """The comparisons so far, and the cells that are undecided. One looks after some repeats only."""

    def __init__(self, cells: Sequence[Cell], runs: Runs, rare: float | None) -> None:
        self.runs, self.left, self._rare = runs, list(cells), rare
        bases = dict.fromkeys(str(cell["stack"]) for cell in cells)
        self.comparisons = Comparisons([(name_of(base, BASELINE), name_of(base, CANDIDATE)) for base in bases])
        self._keys = {cell: key_of(candidate_of(cell).parameters()) for cell in cells}

    def undecided(self, repeat: int, run_s: float) -> list[Cell]:
        """The cells to weigh again, after rounds whose runs took `run_s` in the mean."""
        if repeat in LOOKS:
            short = 2 * FEWEST_SHORT * len(self._keys) * run_s <= SHORT_S
            fewest = fewest_for(self._rare) if self._rare else FEWEST_SHORT if short else LOOKS[0]
            open_ = self.comparisons.look(self.runs.table(), repeat, fewest)
            self.left = [cell for cell in self.left if self._keys[cell] in open_]
        return self.left if repeat < LOOKS[-1] else []

    def table(self) -> pd.DataFrame:
        """Table `comparisons` at the last look; of all runs, undecided, if there was none."""
        if not self.comparisons.decided and len(runs := self.runs.table()):
            self.comparisons.look(runs, int(runs["rep"].max()))
        return self.comparisons.table()


def candidate_of(cell: Cell) -> Cell:
    """The cell as the candidate runs it."""
    return cell.replace(stack=name_of(str(cell["stack"]), CANDIDATE))


def decide(
    cells: Sequence[Cell],
    runs: Runs,
    budget_s: float,
    report: Callable[[str], None] = lambda line: None,
    clock: Callable[[], float] = time.monotonic,
    seed: int | None = None,
    rare: float | None = None,
) -> Weighing:
    """Weigh until each metric is decided, the last look is over, or no repeat would fit into the budget.

    `rare`: `same` would have seen a change in this share of the runs.
    """
    seed = secrets.randbits(32) if seed is None else seed
    blocks, looks = blocks_of(cells), Looks(cells, runs, rare)
    began = clock()
    first = {str(cell["stack"]): blocks[cell] for cell in cells}  # one cell loads an environment from disk for all
    for (cell, side), _ in order([*first.values()], 0, seed):
        report(f"first run, not measured: {cell.experiment}, {side}")
        runs.weigh(cell, side, 0, budget_s - (clock() - began))
    used_s = clock() - began
    times = list[float]()

    def once(member: tuple[Cell, str], repeat: int) -> None:
        cell, side = member
        used = f"{(clock() - began) / 60:.1f} of {budget_s / 60:g} min"
        report(f"repeat {repeat}: {cell.experiment}, {side}; {len(looks.left)} cells undecided; {used}")
        started = clock()
        runs.weigh(cell, side, repeat, budget_s - (started - began))
        times.append(clock() - started)

    def undecided_after(repeat: int) -> list[Block[tuple[Cell, str]]]:
        return [blocks[cell] for cell in looks.undecided(repeat, fmean(times))]

    for done in run(
        [*blocks.values()], once, undecided_after, budget_s, seed=seed, used_s=used_s, drawn=True, clock=clock
    ):
        used_s = done.used_s
    return Weighing(runs.table(), looks.table(), used_s, seed)
