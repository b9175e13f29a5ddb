"""Comparisons that are repeated while runs come in, and decided once.

Each look takes its share of the level (Bonferroni), so all looks together are wrong no more often than one report.
docs/method.md has simulations.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ..metrics import METRICS
from ..metrics.base import CLOCK, WATCHED_CLOCK
from ..metrics.runs import FAILED
from .comparisons import compared, comparisons
from .decide import ALPHA, more_repeats
from .frame import Cell, Key, Pairs, Questions, key

AT = (2, 3, 4, 6, 8, 12, 16, 20, 24, 32)
"""Numbers of repeats after which to look."""
SHARE = ALPHA / len(AT)
"""The level of each look."""


def look(earlier: pd.DataFrame | None, runs: pd.DataFrame, pairs: Pairs) -> pd.DataFrame:
    """Table `comparisons` of the runs so far. A result that the `earlier` look decided stays.

    The intervals hold for all looks together.
    """
    table = comparisons(runs, pairs, stacks_only=True, alpha=SHARE, level=1 - SHARE)
    if earlier is None or earlier.empty:
        return table
    decided = {_name(line): line for line in earlier.to_dict("records") if is_decided(line)}
    lines = [decided.pop(_name(line), line) for line in table.to_dict("records")]
    return pd.DataFrame([*lines, *decided.values()], columns=list(table))


@dataclass(frozen=True)
class Open:
    """An undecided planned question."""

    line: Cell
    """Its line of table `comparisons`, without the numbers."""
    cells: tuple[Key, Key]
    """The cells of baseline and candidate."""
    repeats: float
    """Further repeats of both cells that would decide it, if effect and noise stay the same; infinite if AT[-1]
    would not."""


def open_questions(
    runs: pd.DataFrame, pairs: Pairs, questions: Questions | None, session_spread: pd.DataFrame | None = None
) -> list[Open]:
    """The planned questions that the runs so far leave undecided. Those that need the fewest repeats come first."""
    asked = list(compared(runs, pairs, questions, session_spread))
    needed = more_repeats([one.question for one in asked], AT[-1])
    undecided = [
        Open(one.line, one.cells, repeats)
        for one, repeats in zip(asked, needed, strict=True)
        if repeats and one.question.family == "planned"
    ]
    return sorted(undecided, key=lambda one: one.repeats)


def is_decided(line: Mapping[Any, Any]) -> bool:
    """Whether a line is better, worse or the same."""
    return bool(line["result"] != "undecided")


def must_be_decided(metric: str) -> bool:
    """Whether the gate needs a decision on this metric. Clocks mostly show how busy the machine is."""
    return METRICS[metric].trust not in (CLOCK, WATCHED_CLOCK)


def undecided(table: pd.DataFrame) -> set[Key]:
    """The cells with an undecided metric that must be decided."""
    lines = table.to_dict("records")
    return {key(line) for line in lines if must_be_decided(line["metric"]) and not is_decided(line)}


def without_work(table: pd.DataFrame) -> set[Key]:
    """The cells that failed on both sides."""
    metrics: dict[Key, set[str]] = {}
    for line in table.to_dict("records"):
        metrics.setdefault(key(line), set()).add(line["metric"])
    failed = {key(line) for line in table.to_dict("records") if line["metric"] == FAILED and line["baseline"] > 0}
    return {cell for cell in failed if metrics[cell] == {FAILED}}


def _name(line: Mapping[Any, Any]) -> tuple[Key, str]:
    return key(line), line["metric"]
