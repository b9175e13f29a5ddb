"""Findings on loading for training: lost rows, the read ceiling, readahead under a limit."""

import math
from collections.abc import Iterator

import pandas as pd

from ..decide import AT_LEAST, largest
from ..frame import same_but_for
from ..loaders import EVERY_ROW_ONCE, OF_A_LOADER, by_way
from ..results import RESULTS
from .finding import Advice, Bar, Finding, Line, Scope, Source, Tables, lines_of, reads, tries


@reads("loaders")
def _rows_lost(tables: Tables) -> Iterator[Finding]:
    """Loaders that do not deliver every row exactly once, in runs that finished."""
    loaders = by_way(tables["loaders"])
    wrong = loaders[(loaders["n"] > 0) & loaders["account"].str.contains(r"\d (?:missing|twice|wrong)")]
    for name, group in wrong.groupby("loader", sort=False):
        lines = lines_of(group.sort_values("rows_delivered"))
        line = lines[-1]
        sound = _sound(loaders, lines)
        yield Finding(
            kind="rows",
            subject=str(name),
            scope=Scope(
                str(line["experiment"]),
                (str(line["tokens"]), str(line["order"]), _workers(line)),
                len(lines),
                int((loaders["loader"] == name).sum()),
            ),
            advice=Advice("use", sound, str(name)) if sound else None,
            facts={name: line[name] for name in ("account", "rows_expected", "rows_delivered", "n")},
            strength=tries(int(line["n"]), int(line["n"])),
            figure="loading_accounts",
            bars=(_rows("expected", line["rows_expected"]), _rows("delivered", line["rows_delivered"])),
            seen=tuple(lines),
        )


def _sound(loaders: pd.DataFrame, lines: list[Line]) -> tuple[str, ...]:
    """The loaders that delivered every row once under the same conditions."""
    conditions = [(line["tokens"], line["order"], line["workers"], line["limit_percent"]) for line in lines]
    alike = loaders[["tokens", "order", "workers", "limit_percent"]].apply(tuple, axis=1).isin(conditions)
    same = loaders[alike & loaders["n"].ge(AT_LEAST)].assign(sound=lambda table: table["account"] == EVERY_ROW_ONCE)
    return tuple(str(name) for name, group in same.groupby("loader", sort=False) if group["sound"].all())


def _rows(label: str, rows: float) -> Bar:
    return Bar(label, float(rows), f"{rows:,.0f} rows")


@reads("loaders")
def _read_ceiling(tables: Tables) -> Iterator[Finding]:
    """The best loader for each order, compared with reading without a loader."""
    loaders = by_way(tables["loaders"])
    if "against_ceiling" not in loaders:
        return
    for _, group in same_but_for(loaders[loaders["share_of_limit"].notna()], *OF_A_LOADER, "workers"):
        ordered = lines_of(group.sort_values("share_of_limit"))
        ways = [f"{line['loader']}, {_workers(line)}" for line in ordered]
        nearest, note = largest(ways, [line["share_of_limit"] for line in ordered])
        line = ordered[ways.index(nearest)]
        if line["against_ceiling"] not in RESULTS or math.isnan(line["share_of_limit_low"]):
            continue
        yield Finding(
            kind="read ceiling",
            subject=nearest,
            baseline=str(line["ceiling_way"]),
            scope=Scope(str(line["experiment"]), (str(line["order"]),)),
            facts={
                "result": str(line["against_ceiling"]),
                "share": tuple(float(line[f"share_of_limit{end}"]) for end in ("", "_low", "_high")),
                "n": int(line["n"]),
                "note": note,
            },
            strength=max(1.0, line["share_of_limit_low"], 1 / line["share_of_limit_high"]),
            figure="loading_cost",
            bars=(
                Bar(str(line["ceiling_way"]), 1.0, "100%"),
                Bar(nearest, float(line["share_of_limit"]), f"{line['share_of_limit']:.0%}"),
            ),
            seen=(line,),
        )


@reads("loaders")
def _readahead(tables: Tables) -> Iterator[Finding]:
    """Loaders that under a memory limit complete every run with MADV_RANDOM, and no run without it."""
    loaders = tables["loaders"]
    if "advice" not in loaders:
        return
    tried = loaders[loaders["limit_percent"] > 0]
    for _, group in same_but_for(tried, "experiment", "advice"):
        sides = {line["advice"]: line for line in lines_of(group)}
        advised, plain = sides.get("random"), sides.get("none")
        if not advised or not plain:
            continue
        runs, without = int(advised["asked"]), int(plain["asked"])
        if min(runs, without) < AT_LEAST or advised["n"] < runs or plain["n"] > 0:
            continue
        if plain["outcome"] in ("completed", "not_applicable"):
            continue
        yield Finding(
            kind="readahead",
            subject=str(advised["loader"]),
            scope=Scope(str(advised["experiment"]), (str(advised["order"]), _workers(advised))),
            advice=Advice("use", ("MADV_RANDOM",), conditions=(str(advised["loader"]), str(advised["order"]))),
            facts={
                "limit_percent": float(advised["limit_percent"]),
                "runs": runs,
                "without": without,
                "account": str(plain["account"]),
            },
            strength=tries(without, without),
            figure="loading_limit",
            bars=(
                Bar("with MADV_RANDOM", float(runs), f"{runs} of {runs} runs complete"),
                Bar("without", 0.0, f"0 of {without}"),
            ),
            seen=(advised, plain),
        )


def _workers(line: Line) -> str:
    return f"{line['workers']:.0f} worker{'' if line['workers'] == 1 else 's'}"


SOURCES: tuple[Source, ...] = (_rows_lost, _read_ceiling, _readahead)
