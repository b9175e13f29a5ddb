"""The columns that describe a cell, and groups of lines that differ only in some of them.

What an axis is, its workload says (beyond_ram/experiment/workloads). No table, figure or finding has a list of its own.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from ..experiment import AXES, WORKLOADS

Cell = dict[str, Any]
Key = frozenset[tuple[str, Hashable]]
Pairs = Sequence[tuple[str, str]]
"""Stacks that are compared, each a baseline and its candidate, from the roles in the config."""
Questions = Sequence[Mapping[str, Any]]
"""Planned comparisons: `experiment`, `metric`, `axis`, and `where`, by axis the values of the candidate's cell."""


def key(cell: Mapping[Any, Any]) -> Key:
    """The cell of a mapping with other keys; the repeat is left out."""
    return frozenset((axis, cell[axis]) for axis in ("experiment", *AXES) if axis in cell and pd.notna(cell[axis]))


def axes(table: pd.DataFrame) -> list[str]:
    """The axes that the lines of a table have values on, the experiment first, in the table's own order."""
    return [name for name in table if name == "experiment" or (name in AXES and table[name].notna().any())]


def axes_of(workload: str) -> list[str]:
    """The axes of a workload, the stack first."""
    return list(WORKLOADS[workload].axes())


def varied(table: pd.DataFrame) -> list[str]:
    """The axes in which the lines of a table differ."""
    return [axis for axis in axes(table) if table[axis].nunique(dropna=False) > 1]


def same_but_for(table: pd.DataFrame, *free: str) -> Iterator[tuple[Cell, pd.DataFrame]]:
    """Lines of which every axis but the `free` ones is the same: those axes, and the lines. Repeats stay together.

    Raises KeyError for a name that is no axis.
    """
    unknown = set(free) - {"experiment", *AXES}
    if unknown:
        raise KeyError(f"no such axis: {', '.join(sorted(unknown))}")
    held = [axis for axis in axes(table) if axis not in free]
    for key, group in table.groupby(held, sort=False, dropna=False) if len(table) else ():
        yield dict(zip(held, key, strict=True)), group


def cells(table: pd.DataFrame) -> Iterator[tuple[Cell, pd.DataFrame]]:
    """The cells of a table, each with its repeats."""
    return same_but_for(table)


def where(table: pd.DataFrame, **wanted: Any) -> pd.DataFrame:
    """The lines with these values on these axes; none where the table lacks such a column."""
    for axis, value in wanted.items():
        if axis not in table:
            return table.head(0)
        table = table[table[axis] == value]
    return table


def describe(cell: "Cell | pd.Series[Any]", only: Iterable[str]) -> list[str]:
    """Some axes of a cell in words, as far as it has values on them."""
    described = [AXES[axis].describe(cell[axis]) for axis in only if axis in AXES and pd.notna(cell.get(axis))]
    return [words for words in described if words]


def against(
    table: pd.DataFrame, pairs: Pairs, *free: str
) -> Iterator[tuple[Cell, tuple[str, str], tuple[pd.DataFrame, pd.DataFrame]]]:
    """Cells that differ only in the stack: the cell, each pair of stacks that both ran, and the lines of both."""
    for cell, group in same_but_for(table, "stack", *free):
        sides = {str(stack): lines for stack, lines in group.groupby("stack", sort=False)}
        for baseline, candidate in pairs:
            if baseline in sides and candidate in sides:
                yield cell, (baseline, candidate), (sides[baseline], sides[candidate])
