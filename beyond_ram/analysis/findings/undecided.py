"""Counts of undecided questions."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from ..decide import LIKELY_SHARE
from ..frame import cells
from ..outcomes import AS_ASKED
from ..results import FAMILIES, FEW, LIKELY
from .finding import Tables
from .sentences import detectable


@dataclass(frozen=True)
class Undecided:
    """How many questions of a kind are undecided, out of how many, and the reasons."""

    kind: Literal["too few repeats", "planned", "exploratory", "likely", "causes", "failed", "not applicable"]
    count: int
    total: int
    detectable: tuple[float, ...] = ()
    """For comparisons of ratios: the smallest ratio above 1 that each would have confirmed."""
    reasons: tuple[str, ...] = ()


def count(tables: Tables) -> list[Undecided]:
    """The undecided questions of the tables; empty if all are decided."""
    sources = {"comparisons": _comparisons, "holders": _causes, "runs": _runs}
    counts = [one for name, source in sources.items() if len(tables.get(name, ())) for one in source(tables[name])]
    return [one for one in counts if one.count]


def undecided(tables: Tables) -> list[str]:
    """The counts as sentences."""
    return [sentence(one) for one in count(tables)]


def _comparisons(table: pd.DataFrame) -> Iterator[Undecided]:
    pending = table[table["result"] == "undecided"]
    few = pending["reason"] == FEW
    for family in FAMILIES:
        lines = pending[pending["family"].eq(family) & ~few]
        ratios = lines.loc[lines["ratio"].notna(), "detectable"].dropna()
        total = int(table["family"].eq(family).sum() - (pending["family"].eq(family) & few).sum())
        yield Undecided(family, len(lines), total, tuple(ratios))
    likely = pending[pending["reason"].isin(LIKELY.values())]
    yield Undecided("likely", len(likely), int((~few).sum()))
    yield Undecided("too few repeats", int(few.sum()), len(table))


def _causes(table: pd.DataFrame) -> Iterator[Undecided]:
    causes = [group["cause"].iloc[0] for _, group in cells(table)]
    yield Undecided("causes", causes.count("undecided"), len(causes))


def _runs(table: pd.DataFrame) -> Iterator[Undecided]:
    unfinished = ~table["completed_work"].astype(bool) & ~table["outcome"].isin(AS_ASKED)
    yield Undecided("failed", int(unfinished.sum()), len(table))
    absent = table[table["outcome"].eq("not_applicable")]
    reasons = tuple(
        f"{experiment} ({' and '.join(_reasons(group)) or 'no reason given'})"
        for experiment, group in absent.groupby("experiment", sort=False)
    )
    yield Undecided("not applicable", len(absent), len(table), reasons=reasons)


def _reasons(group: pd.DataFrame) -> list[str]:
    return [str(reason) for reason in group["reason"].dropna().unique() if reason] if "reason" in group else []


def sentence(one: Undecided) -> str:
    """A count as a sentence."""
    of = f"{one.count} of {one.total}"
    if one.kind == "too few repeats":
        return f"{of} comparisons have fewer than two repeats on a side."
    if one.kind == "planned" or one.kind == "exploratory":
        noun = "comparisons that the config asks for" if one.kind == "planned" else "other comparisons"
        return " ".join(filter(None, [f"{of} {noun} are undecided.", detectable(one.detectable)]))
    if one.kind == "likely":
        why = f"over {LIKELY_SHARE:.0%}, the same sign in every pair"
        return f"{one.count} of these {one.total} are likely better or worse: {why}."
    if one.kind == "causes":
        return f"The cause of memory growth is undecided in {of} settings."
    if one.kind == "failed":
        return f"{of} runs did not finish their work; they are excluded from averages."
    return f"{of} runs are not applicable here: {'; '.join(one.reasons)}."
