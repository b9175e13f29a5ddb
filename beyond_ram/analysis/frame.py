"""Which columns of a table describe a cell, and lines that are the same but for some of them.

What an axis is, its workload says (beyond_ram/experiment/workloads). No table, figure or finding has a list of its own.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from ..experiment import AXES

Cell = dict[str, Any]


def axes(table: pd.DataFrame) -> list[str]:
    """The axes that the lines of a table have values on, the experiment first, in the table's own order."""
    return [name for name in table if name == "experiment" or (name in AXES and table[name].notna().any())]


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


def describe(cell: Cell, only: Iterable[str]) -> list[str]:
    """Some axes of a cell in words, as far as it has values on them."""
    return [AXES[axis].describe(cell[axis]) for axis in only if axis in AXES and pd.notna(cell.get(axis))]
