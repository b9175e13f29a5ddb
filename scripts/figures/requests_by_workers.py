"""Requests of a client other than data reads, by stack, number of workers and start method."""

import pandas as pd

from beyond_ram import figures
from beyond_ram.analysis.frame import describe, same_but_for, varied

MARKERS = "osD^vPX"
# Axes that are drawn within a panel.
FREE = ("stack", "workers", "start", "prefetch_factor")
# Width of a group of marks, where groups are 1 apart.
GROUP = 0.6


def plot(streaming):
    usual = streaming.query("mode == 'stream' and fault == 'none' and buffering == 'default'")
    counted = usual[usual["requests_metadata"].notna()]
    compared = [
        group
        for _, group in same_but_for(counted, *FREE)
        if group["workers"].nunique() > 1 or group["stack"].nunique() > 1
    ]
    if not compared:
        return "no experiment of this config varies stacks or workers"
    table = pd.concat(compared)
    if len(table) < 3:
        return figures.FEW
    parts = list(same_but_for(table, "experiment", *FREE))
    conditions = [axis for axis in varied(table) if axis not in ("experiment", "repository", *FREE)]
    stacks = list(dict.fromkeys(table["stack"]))
    colours = figures.colours(stacks)
    figure, panels = figures.panels(len(parts), 3.4, sharey=True)
    for axes, (cell, part) in zip(panels, parts, strict=True):
        draw_panel(axes, part.sort_values(["workers", "start"], kind="stable"), stacks, colours)
        if table["requests_metadata"].min() > 0:
            axes.set_yscale("log")
        words = describe(cell, ("repository", *conditions))
        axes.set_title(figures.fill(", ".join([*words, figures.counts(part["n"])]), 3))
    figure.supylabel("requests other than data reads")
    marks = [
        figures.handle(stack, linestyle="", marker=MARKERS[n % len(MARKERS)], markersize=7, color=colours[stack])
        for n, stack in enumerate(stacks)
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=min(3, len(stacks)))
    return figure, caption(table)


def draw_panel(axes, lines, stacks, colours):
    """Draw a group of marks per number of workers and start method: the median of each cell with its smallest and
    largest repeat; hollow for one run."""
    names = ["\n".join(describe(line, ("workers", "start"))) for line in lines.to_dict("records")]
    groups = list(dict.fromkeys(names))
    for name, line in zip(names, lines.to_dict("records"), strict=True):
        number = stacks.index(line["stack"])
        place = groups.index(name) + (number - (len(stacks) - 1) / 2) * GROUP / len(stacks)
        low, middle, high = (line[f"requests_metadata{end}"] for end in ("_min", "", "_max"))
        colour = colours[line["stack"]]
        axes.plot([place, place], [low, high], "_-", color=colour, linewidth=1.6)
        style = {"markersize": 7, "markerfacecolor": colour if line["n"] > 1 else "white", "markeredgewidth": 1.6}
        axes.plot(place, middle, MARKERS[number % len(MARKERS)], color=colour, **style)
        axes.annotate(f"{middle:,.4g}", (place, middle), (9, 0), textcoords="offset points", va="center")
    axes.set_xticks(range(len(groups)), groups)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    axes.grid(visible=False, axis="x")


def caption(table):
    identical = table["counts_identical"].dropna()
    repeated = (
        f" Every count is the same in all repeats in {int(identical.sum())} of {len(identical)} repeated settings."
        if len(identical)
        else ""
    )
    return f"""
Requests of a client other than data reads: repository, listings, paths, HEADs, small files. Whiskers reach from the
smallest to the largest repeat ({figures.counts(table["n"])}).{repeated} Table `comparisons` decides which stacks
differ.
"""
