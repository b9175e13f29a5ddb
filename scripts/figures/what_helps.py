"""Effect of each remedy on growth, peak and speed, with its interval."""

import numpy as np
import pandas as pd

from beyond_ram import figures
from beyond_ram.analysis.comparisons import ratio_of
from beyond_ram.metrics import METRICS

SHOWN = ("grown_anon_bytes", "peak_grown_anon_bytes", "tokens_per_cpu_s")
TICKS = (0.05, 0.1, 0.2, 0.5, 0.7, 1, 1.4, 2, 5, 10, 20)
# An interval from two scattered repeats may span thousands, so it ends at the panel's edge.
WIDEST = (0.04, 25)


def plot(comparisons):
    remedies = comparisons[comparisons["axis"].eq("remedy") & comparisons["metric"].isin(SHOWN)]
    if remedies.empty:
        return "no experiment of this config varies the remedy"
    ratios = [ratio_of(line) for line in remedies.to_dict("records")]
    remedies = remedies.assign(**pd.DataFrame(ratios, index=remedies.index))
    first = remedies[remedies["metric"] == SHOWN[0]]
    order = first.groupby("remedy")["ratio"].min().sort_values(na_position="last").index.tolist()
    subjects = figures.subject_order(remedies)
    height = len(SHOWN) * (0.36 * len(order) + 0.7) + 1
    figure, grid = figures.rows(len(SHOWN), height, sharey=True, sharex=True)
    grid = grid[:, 0]
    remedies = remedies.assign(subject=figures.subjects(remedies))
    for axes, metric in zip(grid, SHOWN, strict=True):
        mine = remedies[remedies["metric"] == metric]
        axes.axvline(1, color="#555555", linewidth=1)
        draw_ratios(axes, mine, subjects, order)
        axes.set_xscale("log")
        shown = remedies[["ratio", "low", "high"]].stack()
        axes.set_xlim(max(min(0.9 * shown.min(), 0.7), WIDEST[0]), min(max(1.1 * shown.max(), 1.4), WIDEST[1]))
        axes.set_yticks(range(len(order)), order)
        low, high = axes.get_xlim()
        ticks = [tick for tick in TICKS if low <= tick <= high]
        axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axes.set_xticks([], minor=True)
        axes.set_title(f"{METRICS[metric].label} ({METRICS[metric].direction} is better)")
    grid[-1].set_xlabel("ratio to none")
    grid[0].set_ylim(len(order) - 0.5, -0.5)
    figure.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(subjects))
    growth = first[first["result"] == "better"].sort_values("ratio")
    idle, open_ = (sorted(first.loc[first["result"] == word, "remedy"].unique()) for word in ("same", "undecided"))
    best = "; ".join(
        f"{row.remedy} ({row.stack}) {row.ratio:.2f} ({row.low:.2f} to {row.high:.2f})"
        for row in growth.head(4).itertuples()
    )
    n = figures.counts(first.loc[first["n"] > 0, "n"].astype(int)) if first["n"].gt(0).any() else "n = 0"
    caption = f"""
The same cell with a remedy divided by without: ratio of geometric means, with its 95 % interval if there are at least
two runs per side ({n}). Full marks are confirmed after correction, hollow ones are not; the whiskers are not corrected.
Heap growth, which is left at the end of the work, is lower with: {best or "none of them"}. It is the same with:
{", ".join(idle) or "none of them"}. It is undecided for: {", ".join(open_) or "none of them"}.
"""
    return figure, caption


def draw_ratios(axes, lines_of_metric, subjects, order):
    """Draw the ratio of each remedy with its interval, offset by subject; confirmed ones are full."""
    colours = figures.colours(subjects)
    for number, subject in enumerate(subjects):
        lines = lines_of_metric[(lines_of_metric["subject"] == subject) & lines_of_metric["ratio"].notna()]
        # Not `map`, which returns text for an empty table.
        places = np.array([order.index(remedy) for remedy in lines["remedy"]], float)
        y = places + 0.22 * (number - (len(subjects) - 1) / 2)
        reach = np.nan_to_num([lines["ratio"] - lines["low"], lines["high"] - lines["ratio"]]).clip(min=0)
        n = figures.counts(
            lines_of_metric.loc[(lines_of_metric["subject"] == subject) & (lines_of_metric["n"] > 0), "n"].astype(int)
        )
        style = {"color": colours[subject], "markerfacecolor": "none", "label": f"{subject} ({n})"}
        axes.errorbar(lines["ratio"], y, xerr=reach, fmt="o", capsize=3, linewidth=1.2, **style)
        confirmed = lines["result"].isin(["better", "worse"])
        axes.plot(lines.loc[confirmed, "ratio"], y[confirmed], "o", color=colours[subject])
