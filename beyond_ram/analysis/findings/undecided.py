"""What the tables could not decide, counted: the other half of what they show."""

from collections.abc import Iterator

import pandas as pd

from ..outcomes import AS_ASKED
from .base import Tables
from .compared import detectable

_FEW, _OPEN = "not enough data", "not shown"


def undecided(tables: Tables) -> list[str]:
    """Sentences on what was asked and has no answer; none where everything has."""
    sources = {"comparisons": _comparisons, "verdicts": _verdicts, "runs": _runs}
    return [said for name, source in sources.items() if len(tables.get(name, ())) for said in source(tables[name])]


def _comparisons(table: pd.DataFrame) -> Iterator[str]:
    """Comparisons that show neither a difference nor that there is none."""
    asked = len(table)
    few, open_ = (table[table["verdict"] == verdict] for verdict in (_FEW, _OPEN))
    if len(few):
        yield f"{len(few)} of {asked} comparisons have fewer than two values on a side: too few to decide."
    if len(open_):
        known = open_.loc[open_["ratio"].notna(), "could_see"].dropna()
        reach = detectable(known, "these")
        yield f"{len(open_)} of {asked} comparisons show neither a difference nor that there is none.{reach}"


def _verdicts(table: pd.DataFrame) -> Iterator[str]:
    """Cells of which no cause carries enough."""
    lacking = table[table["verdict"] == "undecided"]
    if len(lacking):
        yield f"Why memory grew is undecided in {len(lacking)} of {len(table)} cells."


def _runs(table: pd.DataFrame) -> Iterator[str]:
    """Runs that gave no result."""
    absent = int(table["outcome"].eq("not_applicable").sum())
    failed = int((~table["completed_work"].astype(bool) & ~table["outcome"].isin(AS_ASKED)).sum())
    if failed:
        yield f"{failed} of {len(table)} runs did not finish their work, and no average has them in it."
    if absent:
        mean = "means" if absent == 1 else "mean"
        yield f"{absent} of {len(table)} runs {mean} nothing here: {'; '.join(_not_applicable(table))}."


def _not_applicable(table: pd.DataFrame) -> Iterator[str]:
    """The experiments whose runs mean nothing with their versions or on this machine, each with what was said."""
    absent = table[table["outcome"].eq("not_applicable")]
    for experiment, group in absent.groupby("experiment", sort=False):
        reasons = [str(reason) for reason in group["reason"].dropna().unique() if reason] if "reason" in group else []
        yield f"{experiment} ({' and '.join(reasons) or 'it does not say why'})"
