"""Outcomes of runs, and the counts of finished and failed runs that every table has."""

import functools
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import pandas as pd

from ..metrics import Record
from .frame import is_axis

Value = TypeVar("Value")
COUNTS = ("runs", "finished", "failed", "not_completed")
OUTCOME = ("outcome", "completed_work", "reason")
"""The outcome of a run in table `runs`."""
# Outcomes that neither finished nor failed.
AS_ASKED = ("not_applicable", "interrupted_on_purpose")


def by_cell(values: Iterable[tuple[Record, Value]]) -> list[tuple[dict[str, Any], list[Value]]]:
    """The values of runs, grouped by cell: all repeats of a cell together."""
    cells: dict[Hashable, tuple[dict[str, Any], list[Value]]] = {}
    for record, one in values:
        cell = {name: value for name, value in record["cell"].items() if name != "rep"}
        cells.setdefault(tuple(cell.items()), (cell, []))[1].append(one)
    return list(cells.values())


def tally(*sides: pd.DataFrame) -> dict[str, Any]:
    """The numbers of planned, finished and failed runs, and why some did not complete, over all sides.

    Runs that are not applicable, or were interrupted on purpose, neither finished nor failed. A run that finished its
    work and then ended with an error counts as finished; `not_completed` names it.
    """
    return _tally([run for runs in sides for run in _records(runs)])


def _records(runs: pd.DataFrame) -> list[dict[Hashable, Any]]:
    names = [name for name in OUTCOME if name in runs]
    return [dict(zip(names, line, strict=True)) for line in zip(*(runs[name].tolist() for name in names), strict=True)]


def _tally(runs: Sequence[Mapping[Hashable, Any]]) -> dict[str, Any]:
    others = [run for run in runs if not run["completed_work"]]
    reasons = [_reason(run) for run in runs if not run["completed_work"] or run["outcome"] != "completed"]
    why = [f"{reason} ({reasons.count(reason)} of {len(runs)})" for reason in dict.fromkeys(reasons)]
    return {
        "runs": len(runs),
        "finished": len(runs) - len(others),
        "failed": sum(run["outcome"] not in AS_ASKED for run in others),
        "not_completed": "; ".join(why),
    }


def outcome(of_repeats: Iterable[str]) -> str:
    """The outcome of a cell: `completed` if every applicable repeat completed, else the most frequent other outcome."""
    counts = Counter(of_repeats)
    others = {name: times for name, times in counts.items() if name not in ("completed", "not_applicable")}
    if others:
        return max(sorted(others), key=others.__getitem__)
    return "completed" if counts["completed"] else "not_applicable"


def _reason(line: Mapping[Hashable, Any]) -> str:
    why = line.get("reason")
    words = str(line["outcome"]).replace("_", " ") + (" after its work" if line["completed_work"] else "")
    return f"{words}: {why}" if isinstance(why, str) and why else words


def counted(table: pd.DataFrame, runs: pd.DataFrame) -> pd.DataFrame:
    """The table with `runs`, `finished`, `failed` and `not_completed`, which count the runs of each line.

    `runs` has a line for each planned run: its cell, `outcome`, `completed_work` and `reason`. The runs of a line agree
    with it on every axis on which it has a value. If a line is about all repeats, its `outcome` is `completed` only if
    all of them completed.

    Not changed are tables without a column `experiment`, whose lines are not cells, and tables that already have the
    counts, because their lines are about two cells.
    """
    if "experiment" not in table or set(COUNTS) <= set(table):
        return table
    counts = pd.DataFrame([*_lines(table, runs)], columns=[*COUNTS, "outcome"])
    table = table.assign(**{name: counts[name].to_numpy() for name in COUNTS})
    if "outcome" in table and "rep" not in table:
        outcomes = counts["outcome"].to_numpy()
        table["outcome"] = table["outcome"].where(pd.isna(outcomes), outcomes)
    return table


def _lines(table: pd.DataFrame, runs: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """The counts of the runs of each line."""
    named = [axis for axis in table if is_axis(axis) and axis in runs]
    of_runs = _records(runs)

    @functools.cache
    def counts_of(axes: tuple[str, ...]) -> dict[tuple[Any, ...], dict[str, Any]]:
        """The counts of each cell on some axes."""
        members = defaultdict(list)
        for cell, run in zip(runs[[*axes]].itertuples(index=False, name=None), of_runs, strict=True):
            members[cell].append(run)
        return {cell: _tally(of) | {"outcome": outcome(run["outcome"] for run in of)} for cell, of in members.items()}

    for line in table[named].itertuples(index=False, name=None):
        own = {axis: value for axis, value in zip(named, line, strict=True) if pd.notna(value)}
        counts = counts_of(tuple(own)) if "experiment" in own else {}
        yield counts.get(tuple(own.values()), _tally([]))
