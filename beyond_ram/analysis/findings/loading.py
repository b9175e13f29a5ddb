"""Findings on loading for training."""

from collections.abc import Iterator

from ...units import MB
from ..frame import same_but_for
from ..loaders import OF_A_LOADER, by_way
from ..matters import SHARE
from .base import Finding, Line, Source, Tables, lines_of, reads


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
            50.0,
        )


@reads("loaders")
def _sent(tables: Tables) -> Iterator[Finding]:
    """What worker processes cost: the same loader with them and without.

    Of forked workers only: one that is spawned imports everything anew, which over few rows costs more than all else.
    """
    loaders = by_way(tables["loaders"])
    whole = loaders[loaders["rows_per_cpu_s"].notna() & (loaders["limit_percent"] == 0)]
    whole = whole[whole["start"].isin(["none", "fork"])]
    worst: tuple[float, Line, Line] | None = None
    for _, group in same_but_for(whole, "workers", "start"):
        lines = sorted(lines_of(group), key=lambda line: float(line["workers"]))
        alone, most = lines[0], lines[-1]
        if alone["workers"] or not most["workers"]:
            continue
        factor = alone["rows_per_cpu_s"] / most["rows_per_cpu_s"]
        if worst is None or factor > worst[0]:
            worst = (factor, alone, most)
    if worst and worst[0] > 1 + SHARE:
        factor, alone, most = worst
        yield Finding(
            f"{most['loader']}: with {most['workers']:.0f} workers a row costs {factor:,.1f} times the CPU",
            f"{most['order'].capitalize()}, {alone['rows_per_cpu_s']:,.0f} rows per CPU-second without workers, "
            f"{most['rows_per_cpu_s']:,.0f} with {most['workers']:.0f} by {most['start']} (n = {alone['n']} and "
            f"{most['n']}).",
            "loading_cost",
            str(most["experiment"]),
            factor,
        )


@reads("loaders")
def _fastest(tables: Tables) -> Iterator[Finding]:
    """Of each order the loader with most rows per CPU-second, against the best of the libraries."""
    loaders = by_way(tables["loaders"])
    sound = loaders[(loaders["account"] == "every row once") & (loaders["limit_percent"] == 0)]
    for cell, group in same_but_for(sound, *OF_A_LOADER, "workers"):
        ordered = lines_of(group.sort_values("rows_per_cpu_s"))
        libraries = [line for line in ordered if line["loader_kind"] == "library"]
        if not libraries or ordered[-1]["loader_kind"] == "library":
            continue
        best, library = ordered[-1], libraries[-1]
        factor = best["rows_per_cpu_s"] / library["rows_per_cpu_s"]
        yield Finding(
            f"{best['loader']} delivers {factor:,.1f} times the rows per CPU-second of the best library "
            f"({cell['order']})",
            f"{best['rows_per_cpu_s']:,.0f}, {best['share_of_limit']:.0%} of reading without a loader, with "
            f"{best['workers']:.0f} workers and {best['end_pss_bytes'] / MB:,.0f} MB of PSS; {library['loader']}: "
            f"{library['rows_per_cpu_s']:,.0f} with {library['workers']:.0f} workers and "
            f"{library['end_pss_bytes'] / MB:,.0f} MB (n = {best['n']} and {library['n']}).",
            "loading_cost",
            str(cell["experiment"]),
            factor,
        )


@reads("loaders")
def _readahead(tables: Tables) -> Iterator[Finding]:
    """What reading ahead does to rows in random order where the data does not fit: MADV_RANDOM against none."""
    loaders = tables["loaders"]
    tried = loaders[(loaders["order"] == "shuffled") & (loaders["limit_percent"] > 0)]
    for _, group in same_but_for(tried, "experiment", "advice"):
        sides = {line["advice"]: line for line in lines_of(group)}
        advised, plain = sides.get("random"), sides.get("none")
        if not advised or not plain or advised["outcome"] != "completed":
            continue
        rates = [float(side["rows_per_s_first_epoch"]) for side in (advised, plain)]
        if plain["outcome"] == "completed" and rates[0] < (1 + SHARE) * rates[1]:
            continue
        done = plain["outcome"] == "completed"
        gain = f"{rates[0] / rates[1]:,.1f} times the rows per second" if done else "it completes, without it not"
        without = f"{rates[1]:,.0f} rows per second" if done else str(plain["account"])
        yield Finding(
            f"{advised['loader']}, random order under a memory limit: with MADV_RANDOM {gain}",
            f"The limit is {advised['limit_percent']:.0f} % of the data's size; first epoch, "
            f"{advised['workers']:.0f} workers: {rates[0]:,.0f} rows per second with it, without: {without} "
            f"(n = {advised['n']} and {plain['n']}).",
            "loading_limit",
            str(advised["experiment"]),
            rates[0] / rates[1] if done else 10.0,
        )


SOURCES: tuple[Source, ...] = (_rows_lost, _sent, _fastest, _readahead)
