"""Findings on loading for training. How loaders compare, table `comparisons` decides (compared.py)."""

import math
from collections.abc import Iterator

import pandas as pd

from ..decide import AT_LEAST, selected
from ..frame import same_but_for
from ..loaders import EVERY_ROW_ONCE, OF_A_LOADER, by_way
from .base import Bar, Finding, Line, Source, Tables, lines_of, reads, tries


@reads("loaders")
def _rows_lost(tables: Tables) -> Iterator[Finding]:
    """Loaders that do not deliver every row once, in runs that finished."""
    loaders = by_way(tables["loaders"])
    wrong = loaders[(loaders["n"] > 0) & loaders["account"].str.contains(r"\d (?:missing|twice|wrong)")]
    for name, group in wrong.groupby("loader", sort=False):
        lines = lines_of(group.sort_values("rows_delivered"))
        line = lines[-1]
        cells = int((loaders["loader"] == name).sum())
        yield Finding(
            f"{name} does not deliver every row once: {line['account']}",
            f"Of {line['rows_expected']:,.0f} rows of {line['tokens']}, {line['order']}, {_workers(line)}, "
            f"{line['rows_delivered']:,.0f} came; {line['account']} (n = {line['n']:.0f}). Rows are missing, twice or "
            f"wrong in {len(lines)} of {cells} cells of it.",
            "loading_accounts",
            str(line["experiment"]),
            tries(int(line["n"]), int(line["n"])),
            action=_instead(loaders, lines),
            bars=(_rows("expected", line["rows_expected"]), _rows("delivered", line["rows_delivered"])),
            seen=tuple(lines),
        )


def _instead(loaders: pd.DataFrame, lines: list[Line]) -> str:
    """The loaders that delivered every row once wherever the same was asked of them, and of this one."""
    conditions = [(line["tokens"], line["order"], line["workers"], line["limit_percent"]) for line in lines]
    asked = loaders[["tokens", "order", "workers", "limit_percent"]].apply(tuple, axis=1).isin(conditions)
    same = loaders[asked & loaders["n"].ge(AT_LEAST)].assign(sound=lambda table: table["account"] == EVERY_ROW_ONCE)
    sound = [str(name) for name, group in same.groupby("loader", sort=False) if group["sound"].all()]
    return f"Take one that delivered every row once there: {', '.join(sound)}." if sound else ""


def _rows(label: str, rows: float) -> Bar:
    return Bar(label, float(rows), f"{rows:,.0f} rows")


@reads("ranks")
def _rows_of_ranks(tables: Tables) -> Iterator[Finding]:
    """Rows that several ranks together missed, or had twice, in runs that finished."""
    ranks = tables["ranks"]
    done = ranks[ranks["outcome"].eq("completed")]
    for cell, group in same_but_for(done):
        wrong = group[group["account"].str.contains(r"\d (?:missing|twice|wrong)")]
        if wrong.empty:
            continue
        line = lines_of(wrong)[0]
        yield Finding(
            f"{cell['loader']}, {cell['ranks']:.0f} ranks: not every row once: {line['account']}",
            f"Of {line['rows_expected']:,.0f} rows of {cell['tokens']}, {cell['order']}, {line['rows_delivered']:,.0f} "
            f"came to all ranks together: {line['account']}, so in {len(wrong)} of {len(group)} runs that finished."
            + _equal_parts(line),
            "",
            str(cell["experiment"]),
            tries(len(wrong), len(group)),
            bars=(_rows("expected", line["rows_expected"]), _rows("delivered", line["rows_delivered"])),
            seen=tuple(lines_of(wrong)),
            cause=("ranks", str(cell["loader"])),
        )


def _equal_parts(line: Line) -> str:
    """Where no more rows came than are needed for ranks to have the same number: that they are."""
    expected, ranks = int(line["rows_expected"]), int(line["ranks"])
    padded = -expected % ranks
    if not padded or line["account"] != f"{padded} twice":
        return ""
    return f" For {ranks} ranks to have the same number of rows, {padded} of these {expected:,} had to come again."


@reads("loaders")
def _beside_the_ceiling(tables: Tables) -> Iterator[Finding]:
    """How near the nearest loader comes to reading without one, of each order; above it, that the ceiling is none."""
    loaders = by_way(tables["loaders"])
    if "against_ceiling" not in loaders:
        return
    said = {"above": "is faster than", "reached": "is as fast as", "below": "is slower than"}
    said["not shown"] = "is not shown to differ from"
    for _, group in same_but_for(loaders[loaders["share_of_limit"].notna()], *OF_A_LOADER, "workers"):
        ordered = lines_of(group.sort_values("share_of_limit"))
        ways = [f"{line['loader']}, {_workers(line)}" for line in ordered]
        nearest, which = selected(ways, [line["share_of_limit"] for line in ordered])
        line = ordered[ways.index(nearest)]
        if line["against_ceiling"] not in said:
            continue
        ends = (
            f"{line['share_of_limit']:.0%} (95 % {line['share_of_limit_low']:.0%} to {line['share_of_limit_high']:.0%}"
        )
        yield Finding(
            f"{nearest}, {said[line['against_ceiling']]} the fastest way tried to read without a loader: "
            f"{line['share_of_limit']:.0%} of it ({line['order']}; {which})",
            f"Rows per CPU-second from the page cache: {ends}, n = {line['n']:.0f}) of {line['ceiling_way']}."
            + (" So there is a faster way to read than those tried." if line["against_ceiling"] == "above" else ""),
            "loading_cost",
            str(line["experiment"]),
            max(1.0, line["share_of_limit_low"], 1 / line["share_of_limit_high"]),
            bars=(
                Bar(str(line["ceiling_way"]), 1.0, "100%"),
                Bar(nearest, float(line["share_of_limit"]), f"{line['share_of_limit']:.0%}"),
            ),
            seen=(line,),
        )


@reads("loaders")
def _readahead(tables: Tables) -> Iterator[Finding]:
    """Under a memory limit: what every run completes with MADV_RANDOM, and none without."""
    loaders = tables["loaders"]
    if "advice" not in loaders:
        return
    tried = loaders[loaders["limit_percent"] > 0]
    for _, group in same_but_for(tried, "experiment", "advice"):
        sides = {line["advice"]: line for line in lines_of(group)}
        advised, plain = sides.get("random"), sides.get("none")
        if not advised or not plain:
            continue
        runs, without = _runs(advised), _runs(plain)
        # One run a side is not enough, as in decide.py.
        if min(runs, without) < AT_LEAST or advised["n"] < runs or plain["n"] > 0:
            continue
        if plain["outcome"] in ("completed", "not_applicable"):
            continue
        yield Finding(
            f"{advised['loader']}, {advised['order']} under a memory limit: completes with MADV_RANDOM, "
            "and without it not",
            f"The limit is {advised['limit_percent']:.0f} % of the data's size, {_workers(advised)}: with it "
            f"{runs} of {runs} runs complete, without it 0 of {without}: {plain['account']}.",
            "loading_limit",
            str(advised["experiment"]),
            tries(without, without),
            action=f"Map the file with MADV_RANDOM where {advised['loader']} reads {advised['order']} under a limit.",
            bars=(
                Bar("with MADV_RANDOM", float(runs), f"{runs} of {runs} runs complete"),
                Bar("without", 0.0, f"0 of {without}"),
            ),
            seen=(advised, plain),
        )


def _workers(line: Line) -> str:
    return f"{line['workers']:.0f} worker{'' if line['workers'] == 1 else 's'}"


def _runs(line: Line) -> int:
    """The runs that were asked for; tables kept from before count all as n."""
    asked: float = line.get("asked", math.nan)
    return int(line["n"] if math.isnan(asked) else asked)


SOURCES: tuple[Source, ...] = (_rows_lost, _rows_of_ranks, _beside_the_ceiling, _readahead)
