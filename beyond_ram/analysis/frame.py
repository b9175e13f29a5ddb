"""The columns that describe a cell, and groups of lines that differ only in some of them.

Each workload declares its axes (beyond_ram/experiment/workloads). No table, figure or finding has its own list.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from ..experiment import AXES

CellValues = dict[str, Any]
Key = frozenset[tuple[str, Hashable]]
Pairs = Sequence[tuple[str, str]]
"""Compared stacks from the config's roles, as pairs of baseline and candidate."""
Questions = Sequence[Mapping[str, Any]]
"""Planned comparisons: `experiment`, `metric`, `axis`, and `where`, which maps an axis to values of the candidate."""


def key(cell: Mapping[Any, Any]) -> Key:
    """The cell in a mapping that also has other keys. The repeat is left out."""
    return frozenset((str(axis), cell[axis]) for axis in cell if is_axis(axis) and pd.notna(cell[axis]))


def is_axis(name: object) -> bool:
    """Whether a column is an axis, or the experiment."""
    return name == "experiment" or name in AXES


def axes(table: pd.DataFrame) -> list[str]:
    """The axes that a table has values on, in the order of its columns; includes the experiment."""
    named = [str(name) for name in table.columns if is_axis(name)]
    return [name for name in named if name == "experiment" or not table[name].array.isna().all()]


def varied(table: pd.DataFrame) -> list[str]:
    """The axes in which the lines of a table differ."""
    return [axis for axis in axes(table) if table[axis].nunique(dropna=False) > 1]


def same_but_for(table: pd.DataFrame, *free: str) -> Iterator[tuple[CellValues, pd.DataFrame]]:
    """Groups of lines that agree on every axis except the `free` ones, with these axes. Repeats stay together.

    Raises KeyError for a name that is not an axis.
    """
    unknown = [axis for axis in free if not is_axis(axis)]
    if unknown:
        raise KeyError(f"no such axis: {', '.join(sorted(unknown))}")
    fixed = [axis for axis in axes(table) if axis not in free]
    for key, group in table.groupby(fixed, sort=False, dropna=False) if len(table) else ():
        yield dict(zip(fixed, key, strict=True)), group


def cells(table: pd.DataFrame) -> Iterator[tuple[CellValues, pd.DataFrame]]:
    """The cells of a table, each with its repeats."""
    return same_but_for(table)


def describe(cell: "CellValues | pd.Series[Any]", only: Iterable[str]) -> list[str]:
    """Some axes of a cell in words. Axes without a value are left out."""
    described = [AXES[axis].describe(cell[axis]) for axis in only if axis in AXES and pd.notna(cell.get(axis))]
    return [words for words in described if words]


def stack_pairs(
    table: pd.DataFrame, pairs: Pairs, *free: str
) -> Iterator[tuple[CellValues, tuple[str, str], tuple[pd.DataFrame, pd.DataFrame]]]:
    """Cells that differ only in the stack: the cell, each pair of stacks that both ran it, and the lines of both."""
    for cell, group in same_but_for(table, "stack", *free):
        sides = {str(stack): lines for stack, lines in group.groupby("stack", sort=False)}
        for baseline, candidate in pairs:
            if baseline in sides and candidate in sides:
                yield cell, (baseline, candidate), (sides[baseline], sides[candidate])
