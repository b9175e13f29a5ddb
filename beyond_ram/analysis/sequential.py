"""Planned questions that are looked at again while runs come in, for the workflow."""

from dataclasses import dataclass

import pandas as pd

from .comparisons import compared
from .decide import more_repeats
from .frame import CellValues, Key, Pairs, Questions


@dataclass(frozen=True)
class Open:
    """An undecided planned question."""

    line: CellValues
    """Its line of table `comparisons`, without the numbers."""
    cells: tuple[Key, Key]
    """The cells of baseline and candidate."""
    repeats: float
    """Further repeats of both cells that would decide it, if effect and noise stay the same; infinite if LOOKS[-1]
    would not."""


def open_questions(
    runs: pd.DataFrame, pairs: Pairs, questions: Questions | None, session_spread: pd.DataFrame | None = None
) -> list[Open]:
    """The planned questions that the runs so far leave undecided. Those that need the fewest repeats come first."""
    compared_cells = list(compared(runs, pairs, questions, session_spread))
    needed = more_repeats([one.question for one in compared_cells])
    undecided = [
        Open(one.line, one.cells, repeats)
        for one, repeats in zip(compared_cells, needed, strict=True)
        if repeats and one.question.family == "planned"
    ]
    return sorted(undecided, key=lambda one: one.repeats)
