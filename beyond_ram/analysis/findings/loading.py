"""Findings on loading for training."""

from collections.abc import Iterator

import numpy as np

from ...units import MB
from ..decide import selected
from ..frame import same_but_for
from ..loaders import OF_A_LOADER, by_way
from ..matters import SHARE
from .base import Finding, Source, Tables, lines_of, reads, tries


@reads("loaders")
def _rows_lost(tables: Tables) -> Iterator[Finding]:
    """Loaders that do not deliver every row once."""
    loaders = by_way(tables["loaders"])
    wrong = loaders[
        (loaders["outcome"] == "completed") & loaders["account"].str.contains(r"\d (?:missing|twice|wrong)")
    ]
    for name, group in wrong.groupby("loader", sort=False):
        line = lines_of(group.sort_values("rows_delivered"))[-1]
        yield Finding(
            f"{name} does not deliver every row once: {line['account']}",
            f"Of {line['rows_expected']:,.0f} rows of {line['tokens']}, {line['order']}, {line['workers']:.0f} "
            f"workers, {line['rows_delivered']:,.0f} came; {line['account']} (n = {line['n']}).",
            "loading_accounts",
            str(line["experiment"]),
            tries(int(line["n"]), int(line["n"])),
        )


@reads("loaders")
def _fastest(tables: Tables) -> Iterator[Finding]:
    """Of each order the loader with most rows per CPU-second, where its interval is above that of every library."""
    loaders = by_way(tables["loaders"])
    sound = loaders[(loaders["account"] == "every row once") & (loaders["limit_percent"] == 0)]
    for cell, group in same_but_for(sound, *OF_A_LOADER, "workers"):
        ordered = lines_of(group.sort_values("rows_per_cpu_s"))
        libraries = [line for line in ordered if line["loader_kind"] == "library"]
        if not libraries or ordered[-1]["loader_kind"] == "library":
            continue
        best, library = ordered[-1], libraries[-1]
        # One without an interval may be faster than it seems.
        sure = best["rows_per_cpu_s_low"] / np.max([line["rows_per_cpu_s_high"] for line in libraries])
        if not sure > 1 + SHARE:
            continue
        factor = best["rows_per_cpu_s"] / library["rows_per_cpu_s"]
        _, which = selected([line["loader"] for line in libraries], [line["rows_per_cpu_s"] for line in libraries])
        yield Finding(
            f"{best['loader']} delivers {factor:,.1f} times the rows per CPU-second of {library['loader']} "
            f"({cell['order']}; of libraries {which})",
            f"{best['rows_per_cpu_s']:,.0f}, {best['share_of_limit']:.0%} of reading without a loader, with "
            f"{best['workers']:.0f} workers and {best['end_pss_bytes'] / MB:,.0f} MB of PSS; {library['loader']}: "
            f"{library['rows_per_cpu_s']:,.0f} with {library['workers']:.0f} workers and "
            f"{library['end_pss_bytes'] / MB:,.0f} MB (n = {best['n']} and {library['n']}).",
            "loading_cost",
            str(cell["experiment"]),
            sure,
        )


@reads("loaders")
def _readahead(tables: Tables) -> Iterator[Finding]:
    """Rows in random order where the data does not fit: what completes with MADV_RANDOM alone."""
    loaders = tables["loaders"]
    tried = loaders[(loaders["order"] == "shuffled") & (loaders["limit_percent"] > 0)]
    for _, group in same_but_for(tried, "experiment", "advice"):
        sides = {line["advice"]: line for line in lines_of(group)}
        advised, plain = sides.get("random"), sides.get("none")
        if not advised or not plain or advised["outcome"] != "completed":
            continue
        if plain["outcome"] in ("completed", "not_applicable"):
            continue
        yield Finding(
            f"{advised['loader']}, random order under a memory limit: completes with MADV_RANDOM, and without it not",
            f"The limit is {advised['limit_percent']:.0f} % of the data's size, {advised['workers']:.0f} workers: "
            f"{advised['rows_per_s_first_epoch']:,.0f} rows per second in the first epoch with it; without: "
            f"{plain['account']} (n = {advised['n']} and {plain['n']}).",
            "loading_limit",
            str(advised["experiment"]),
            tries(int(plain["n"]), int(plain["n"])),
        )


SOURCES: tuple[Source, ...] = (_rows_lost, _fastest, _readahead)
