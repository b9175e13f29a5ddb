"""Rounds of the workflow: which runs get the rest of a budget, from the records so far."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import pandas as pd
import psutil

from ..analysis.frame import Key, Pairs, Questions, key
from ..analysis.sequential import AT, Open, open_questions
from ..analysis.session_spread import session_spread
from ..experiment import Cell
from ..metrics import Record
from .blocks import Block, fitting


@dataclass(frozen=True)
class Decided:
    """The runs that a round requests."""

    runs: tuple[Cell, ...]
    """Empty if all is decided, or if nothing more fits."""
    used_s: float
    """Seconds of weighing so far in all calls, from the records."""
    undecided: int
    """Planned questions that are undecided."""


def next_runs(
    weighed: Mapping[Cell, Record],
    table: pd.DataFrame,
    repeated: Collection[str],
    pairs: Pairs,
    questions: Questions,
    budget_s: float,
    shipped_spread: pd.DataFrame | None = None,
) -> Decided:
    """Further repeats for undecided questions that fit into the budget.

    `weighed` are the records of all runs so far, and `table` is table `runs` of them. `repeated` are the experiments
    whose cells may be repeated. Questions that need the least time come first. A round continues to the next number of
    repeats in `sequential.AT`. With `shipped_spread` (between sessions) the decisions equal those of the report.
    """
    cells, times = dict[Key, Cell](), dict[Key, list[float]]()
    for cell, record in weighed.items():
        cells[key(record["cell"])] = cell
        times.setdefault(key(record["cell"]), []).append(spent_s(record))
    seconds_of = {cells[one]: fmean(spent) for one, spent in times.items()}
    spread = None if shipped_spread is None else session_spread(table, pairs, shipped_spread)
    undecided = open_questions(table, pairs, questions, spread)
    asked = [one for one in undecided if {*one.cells} <= cells.keys() and one.line["experiment"] in repeated]
    blocks = _blocks(asked, cells, seconds_of)
    used_s = sum(map(sum, times.values()))
    left_s, chosen = budget_s - used_s, list[Cell]()
    repeat = max((cell.rep for cell in weighed if cell.experiment in repeated), default=AT[-1])
    for number in range(repeat + 1, next((look for look in AT if look > repeat), repeat) + 1):
        blocks = fitting(blocks, seconds_of.__getitem__, left_s)
        members = dict.fromkeys(member for block in blocks for member in block.members)
        left_s -= sum(seconds_of[member] for member in members)
        chosen += [replace(member, rep=number) for member in members]
    return Decided(tuple(chosen), used_s, len(undecided))


def _blocks(asked: Sequence[Open], cells: dict[Key, Cell], seconds_of: dict[Cell, float]) -> list[Block[Cell]]:
    """The cells of each question. Questions that need the least time come first."""
    blocks = dict[tuple[Cell, ...], float]()
    for one in asked:
        members = tuple(cells[cell] for cell in one.cells)
        blocks.setdefault(members, one.repeats * sum(seconds_of[member] for member in members))
    return [Block(members[1].path, members) for members in sorted(blocks, key=blocks.__getitem__)]


def spent_s(record: Record) -> float:
    """Seconds that weighing a run took."""
    return float(record["weighing_s"])


def running_s() -> float:
    """Seconds since this process started, including imports. A round's decision takes them from the budget."""
    return time.time() - float(psutil.Process().create_time())
