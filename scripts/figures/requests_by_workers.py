"""Requests that are no reads of data against the number of workers, by stack."""

import pandas as pd
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from beyond_ram import figures
from beyond_ram.analysis.frame import describe, same_but_for, varied

MARKERS = "osD^vPX"
# What is drawn within a panel.
FREE = ("stack", "workers", "start", "prefetch_factor")


def plot(streaming):
    usual = streaming.query("mode == 'stream' and fault == 'none' and buffering == 'default'")
    known = usual[usual["requests_metadata"].notna()]
    # Only where stacks or numbers of workers can be compared.
    compared = [
        group
        for _, group in same_but_for(known, *FREE)
        if group["workers"].nunique() > 1 or group["stack"].nunique() > 1
    ]
    if not compared:
        return "no experiment of this config varies stacks or workers"
    table, lines = pd.concat(compared), []
    for cell, group in same_but_for(table, "experiment", *FREE):
        # Without workers nothing is started: that point belongs to both ways of starting them.
        starts = [start for start in ("fork", "spawn") if start in set(group["start"])] or ["none"]
        lines += [(cell, start, group[group["start"].isin([start, "none"])]) for start in starts]
    conditions = [axis for axis in varied(table) if axis not in ("experiment", "repository", *FREE)]
    stacks = list(dict.fromkeys(table["stack"]))
    colours = figures.colours(stacks)
    figure, panels = figures.panels(len(lines), 3.4, sharey=True)
    for axes, (cell, start, part) in zip(panels, lines, strict=True):
        for number, stack in enumerate(stacks):
            drawn_line(axes, part[part["stack"] == stack], MARKERS[number % len(MARKERS)], colours[stack], stack)
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(10, subs=(1, 2, 3, 5, 7)))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set_xticks(sorted(part["workers"].unique()))
        said = describe(cell, ("repository", *conditions)) + ([] if start == "none" else [start])
        said += [f"n = {figures.span(part['n'])}"]
        axes.set_title(figures.fill(", ".join(said), 3))
        axes.set_xlabel("workers of the DataLoader")
        if axes.get_subplotspec().is_first_col():
            axes.set_ylabel("requests, reads of data left out")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(3, len(stacks)))
    identical = table["counts_identical"].dropna()
    repeated = (
        f"Every count is the same in all repeats in {int(identical.sum())} of {len(identical)} repeated cells"
        if len(identical)
        else "Each cell was run once, and is hollow"
    )
    caption = f"""
What a client asks the endpoint beside reads of data: repository, listings, paths, HEADs, small files; the axis is
logarithmic, and whiskers reach from the smallest to the largest repeat ({figures.counts(table["n"])}).
{repeated}. Which stacks differ, table `comparisons` decides.
{"A larger count on another machine, with the same lock, would prove those wrong." if identical.any() else ""}
"""
    return figure, caption


def drawn_line(axes, lines, marker, colour, label):
    """A stack's counts over workers, each with its smallest and largest repeat; hollow where there was one run."""
    lines = lines.sort_values("workers")
    shown = lines["requests_metadata"]
    spread = [
        shown - lines["requests_metadata_min"].fillna(shown),
        lines["requests_metadata_max"].fillna(shown) - shown,
    ]
    axes.errorbar(lines["workers"], shown, yerr=spread, color=colour, capsize=4, linewidth=1.6)
    axes.plot([], [], f"{marker}-", color=colour, label=label, markersize=7)
    for count, workers, n in zip(shown, lines["workers"], lines["n"], strict=True):
        filled = colour if n > 1 else "white"
        axes.plot(workers, count, marker, color=colour, markersize=7, markerfacecolor=filled, markeredgewidth=1.6)
