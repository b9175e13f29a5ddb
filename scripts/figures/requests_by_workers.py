"""Requests other than data reads by number of workers and stack."""

import pandas as pd
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from beyond_ram import figures
from beyond_ram.analysis.frame import describe, same_but_for, varied

MARKERS = "osD^vPX"
# Axes that are drawn within a panel.
FREE = ("stack", "workers", "start", "prefetch_factor")
# Width of a group of marks, where groups are 1 apart.
GROUP = 0.6
# Counts that differ by more than this factor are drawn on a logarithmic axis.
LINEAR_UP_TO = 10


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
    parts = [part for cell, group in same_but_for(table, "experiment", *FREE) for part in by_start(cell, group)]
    logarithmic = is_logarithmic(table["requests_metadata"])
    conditions = [axis for axis in varied(table) if axis not in ("experiment", "repository", *FREE)]
    stacks = list(dict.fromkeys(table["stack"]))
    colours = figures.colours(stacks)
    figure, panels = figures.panels(len(parts), 3.4, sharey=True)
    for axes, (cell, start, part) in zip(panels, parts, strict=True):
        draw_panel(axes, part, stacks, colours)
        set_scale(axes, logarithmic)
        words = describe(cell, ("repository", *conditions)) + ([] if start == "none" else [start])
        axes.set_title(figures.fill(", ".join([*words, figures.counts(part["n"])]), 3))
        if (place := axes.get_subplotspec()) and place.is_first_col():
            axes.set_ylabel("requests other than data reads")
    marks = [
        figures.handle(stack, linestyle="", marker=MARKERS[n % len(MARKERS)], markersize=7, color=colours[stack])
        for n, stack in enumerate(stacks)
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=min(3, len(stacks)))
    return figure, caption(table, logarithmic)


def by_start(cell, group):
    """A panel per start method. Cells without workers belong to each."""
    starts = [start for start in ("fork", "spawn") if start in set(group["start"])] or ["none"]
    return [(cell, start, group[group["start"].isin([start, "none"])]) for start in starts]


def draw_panel(axes, lines, stacks, colours):
    """Draw a group of marks per number of workers, without lines between: no number between was run."""
    counts = sorted(lines["workers"].unique())
    step = GROUP / len(stacks)
    for line in lines.to_dict("records"):
        number = stacks.index(line["stack"])
        place = counts.index(line["workers"]) + (number - (len(stacks) - 1) / 2) * step
        draw_mark(axes, place, line, MARKERS[number % len(MARKERS)], colours[line["stack"]])
    axes.set_xticks(range(len(counts)), [f"{count:.0f} workers" if count else "no workers" for count in counts])
    axes.set_xlim(-0.5, len(counts) - 0.5)
    axes.grid(visible=False, axis="x")


def is_logarithmic(counts):
    """Whether counts differ too much for an axis that begins at 0."""
    return counts.min() > 0 and counts.max() > LINEAR_UP_TO * counts.min()


def set_scale(axes, logarithmic):
    if not logarithmic:
        axes.set_ylim(bottom=0)
        return
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(10, subs=(1, 2, 3, 5, 7)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def draw_mark(axes, place, line, marker, colour):
    """Draw the median of a cell with its smallest and largest repeat; hollow for one run."""
    middle = line["requests_metadata"]
    low, high = line["requests_metadata_min"], line["requests_metadata_max"]
    if low == low:
        axes.errorbar(place, middle, yerr=[[middle - low], [high - middle]], color=colour, capsize=4, linewidth=1.6)
    filled = colour if line["n"] > 1 else "white"
    style = {"color": colour, "markersize": 7, "markerfacecolor": filled, "markeredgewidth": 1.6}
    axes.plot(place, middle, marker, label=line["stack"], **style)
    axes.annotate(f"{middle:,.4g}", (place, middle), (9, 0), textcoords="offset points", va="center")


def caption(table, logarithmic):
    identical = table["counts_identical"].dropna()
    repeated = (
        f"Every count is the same in all repeats in {int(identical.sum())} of {len(identical)} repeated cells"
        if len(identical)
        else "Each cell was run once, and is hollow"
    )
    same_count = "A count that never varies here should be the same on another machine with the same lock."
    elsewhere = same_count if identical.any() else ""
    scale = "The axis is logarithmic; whiskers" if logarithmic else "Whiskers"
    return f"""
Requests of a client other than data reads: repository, listings, paths, HEADs, small files. {scale} reach
from the smallest to the largest repeat ({figures.counts(table["n"])}). {repeated}. Table `comparisons`
decides which stacks differ. {elsewhere}
"""
