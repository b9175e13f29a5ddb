"""Findings on loading for training."""

from collections.abc import Iterator

from ..remedies import MATTERS
from .base import MB, Finding, Line, Source, Tables, lines_of


def _rows_lost(tables: Tables) -> Iterator[Finding]:
    """Loaders that do not deliver every row once."""
    loaders = tables["loaders"]
    if "account" not in loaders:
        return
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


def _sent(tables: Tables) -> Iterator[Finding]:
    """What handing batches from worker processes to their parent costs: the same loader with workers and without.

    Of forked workers only: one that is spawned imports everything anew, which over few rows costs more than all else.
    """
    loaders = tables["loaders"]
    if "rows_per_cpu_s" not in loaders:
        return
    whole = loaders[loaders["rows_per_cpu_s"].notna() & (loaders["limit_percent"] == 0)]
    whole = whole[whole["start"].isin(["none", "fork"])]
    worst: tuple[float, Line, Line] | None = None
    for _, group in whole.groupby(["experiment", "loader", "order", "page_cache"], sort=False):
        lines = sorted(lines_of(group), key=lambda line: float(line["workers"]))
        alone, most = lines[0], lines[-1]
        if alone["workers"] or not most["workers"]:
            continue
        factor = alone["rows_per_cpu_s"] / most["rows_per_cpu_s"]
        if worst is None or factor > worst[0]:
            worst = (factor, alone, most)
    if worst and worst[0] > 1 + MATTERS:
        factor, alone, most = worst
        yield Finding(
            f"{most['loader']}: with {most['workers']:.0f} workers a row costs {factor:,.1f} times the CPU",
            f"{most['order'].capitalize()}, {alone['rows_per_cpu_s']:,.0f} rows per CPU-second without workers, "
            f"{most['rows_per_cpu_s']:,.0f} with {most['workers']:.0f} by {most['start']} (n = {alone['n']} and "
            f"{most['n']}): sending batches costs more than reading them.",
            "loading_cost",
            str(most["experiment"]),
            factor,
        )


def _fastest(tables: Tables) -> Iterator[Finding]:
    """Of each order the loader with most rows per CPU-second, against the best of the libraries."""
    loaders = tables["loaders"]
    if "rows_per_cpu_s" not in loaders:
        return
    sound = loaders[(loaders["account"] == "every row once") & (loaders["limit_percent"] == 0)]
    for keys, group in sound.groupby(["experiment", "order"], sort=False):
        ordered = lines_of(group.sort_values("rows_per_cpu_s"))
        libraries = [line for line in ordered if line["loader_kind"] == "library"]
        if not libraries or ordered[-1]["loader_kind"] == "library":
            continue
        best, library = ordered[-1], libraries[-1]
        factor = best["rows_per_cpu_s"] / library["rows_per_cpu_s"]
        yield Finding(
            f"{best['loader']} delivers {factor:,.1f} times the rows per CPU-second of the best library ({keys[1]})",
            f"{best['rows_per_cpu_s']:,.0f}, {best['share_of_limit']:.0%} of reading without a loader, with "
            f"{best['workers']:.0f} workers and {best['end_pss_bytes'] / MB:,.0f} MB of PSS; {library['loader']}: "
            f"{library['rows_per_cpu_s']:,.0f} with {library['workers']:.0f} workers and "
            f"{library['end_pss_bytes'] / MB:,.0f} MB (n = {best['n']} and {library['n']}).",
            "loading_cost",
            str(keys[0]),
            factor,
        )


SOURCES: tuple[Source, ...] = (_rows_lost, _sent, _fastest)
