"""Sentences that count what is undecided."""

from collections.abc import Iterator

import pandas as pd

from ...metrics import METRICS
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
    sentences = []
    for (experiment, metric, axis, *sides), lines in table[table["family"].eq("planned")].groupby(
        _QUESTION, sort=False
    ):
        if same := int(lines["result"].eq("same").sum()):
            both = " and ".join(value_in_words(axis, side) for side in sides)
            sentences.append(
                f"{METRICS[str(metric)].label}: the same with {both}, in {same} of {len(lines)} settings of experiment "
                f"{experiment}."
            )
    return sentences


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
