"""Sentences that count what is undecided."""

from collections.abc import Iterator

import pandas as pd

from ...metrics import METRICS
from ...units import amount
from ..decide import FEWEST_REPEATS
from ..frame import cells
from ..outcomes import AS_ASKED
from ..results import Family
from .compared import value_in_words
from .finding import Tables
from .sentences import detectable

_ASKED_FOR: dict[Family, str] = {
    "planned": "comparisons that the config asks for", "exploratory": "other comparisons",
}  # fmt: skip

_QUESTION = ["experiment", "metric", "axis", "before", "after"]


def undecided(tables: Tables) -> list[str]:
    """The undecided questions of the tables, counted by kind; empty if all are decided."""
    sources = {"comparisons": _comparisons, "holders": _causes, "runs": _runs}
    return [text for name, source in sources.items() if len(tables.get(name, ())) for text in source(tables[name])]


def unchanged(tables: Tables) -> list[str]:
    """The planned questions whose answer is `same`, which no finding names."""
    table = tables.get("comparisons", pd.DataFrame())
    if table.empty:
        return []
    planned, sentences = table[table["family"].eq("planned")], []
    for (experiment, metric, axis, *sides), lines in planned.groupby(_QUESTION, sort=False):
        same = lines[lines["result"].eq("same")]
        if len(same):
            both = " and ".join(value_in_words(axis, side) for side in sides)
            settings = f"{len(same)} of {len(lines)} settings of experiment {experiment}"
            label = METRICS[str(metric)].label
            sentences.append(f"{label}: the same with {both}{_interval(str(metric), same)}, in {settings}.")
    return sentences


def _interval(metric: str, same: pd.DataFrame) -> str:
    """All that the intervals of `same` leave possible."""
    low, high, as_ratio = same["low"].min(), same["high"].max(), same["ratio"].notna().all()
    if pd.isna(low) or pd.isna(high) or low == high:
        return ""
    unit = METRICS[metric].unit
    ends = f"{low:.3g} to {high:.3g} times" if as_ratio else f"{amount(low, unit)} to {amount(high, unit)} more"
    return f" ({ends})"


def _comparisons(table: pd.DataFrame) -> Iterator[str]:
    enough = table[table["n"] >= FEWEST_REPEATS]
    pending = enough[enough["result"] == "undecided"]
    planned = enough["family"].eq("planned").any()
    for family, named in _ASKED_FOR.items():
        comparisons = named if planned else "comparisons"
        lines, total = pending[pending["family"] == family], int(enough["family"].eq(family).sum())
        if len(lines):
            ratios = lines.loc[lines["ratio"].notna(), "detectable"].dropna()
            are = f"{len(lines)} of {total} {comparisons} {'is' if len(lines) == 1 else 'are'} undecided."
            yield f"{are} {detectable(tuple(ratios))}".strip()
    if few := len(table) - len(enough):
        yield f"{few} of {len(table)} comparisons {'has' if few == 1 else 'have'} fewer than two readings on a side."


def _causes(table: pd.DataFrame) -> Iterator[str]:
    causes = [group["cause"].iloc[0] for _, group in cells(table)]
    if unknown := causes.count("undecided"):
        yield f"The cause of memory growth is undecided in {unknown} of {len(causes)} settings."


def _runs(table: pd.DataFrame) -> Iterator[str]:
    unfinished = int((~table["completed_work"].astype(bool) & ~table["outcome"].isin(AS_ASKED)).sum())
    if unfinished:
        yield f"{unfinished} of {len(table)} runs did not finish their work; they are excluded from averages."
    absent = table[table["outcome"] == "not_applicable"]
    reasons = [
        f"{experiment} ({' and '.join(filter(None, group['reason'].dropna().unique())) or 'no reason given'})"
        for experiment, group in absent.groupby("experiment", sort=False)
    ]
    if reasons:
        yield f"{len(absent)} of {len(table)} runs are not applicable here: {'; '.join(reasons)}."
