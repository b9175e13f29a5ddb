"""A cold page cache against a warm one, first epoch."""

import matplotlib.pyplot as plt

from beyond_ram import figures
from beyond_ram.analysis.loaders import whole


def both(loaders):
    states = loaders.groupby(["loader", "order", "workers"])["page_cache"].transform("nunique")
    return loaders[states > 1]


def draw(loaders):
    orders = list(dict.fromkeys(loaders["order"]))
    names = list(dict.fromkeys(loaders["loader"]))
    figure, grid = plt.subplots(
        1,
        len(orders),
        figsize=(5.5 * len(orders) + 2, 0.42 * len(names) + 2),
        squeeze=False,
        sharey=True,
        layout="constrained",
    )
    slowest = 1.0
    for axes, order in zip(grid[0], orders, strict=True):
        for place, name in enumerate(names):
            mine = loaders[(loaders["loader"] == name) & (loaders["order"] == order)]
            mine = mine[mine["workers"] == mine["workers"].max()].drop_duplicates("page_cache").set_index("page_cache")
            if {"cold", "warm"} - set(mine.index):
                continue
            rate = mine["rows_per_s_first_epoch"]
            slowest = max(slowest, rate["warm"] / rate["cold"])
            axes.plot([rate["cold"], rate["warm"]], [place, place], color="#bbbbbb", zorder=1)
            axes.plot(rate["cold"], place, "o", color="#0072B2", zorder=2)
            axes.plot(rate["warm"], place, "o", color="#D55E00", zorder=2)
        axes.set(xscale="log", title=order, xlabel="rows per second, first epoch")
    grid[0][0].set_yticks(range(len(names)), names)
    grid[0][0].invert_yaxis()
    handles = [
        plt.Line2D([], [], linestyle="", marker="o", color=colour, label=label)
        for colour, label in (("#0072B2", "cold page cache"), ("#D55E00", "warm page cache"))
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False)
    cold = loaders[loaders["page_cache"] == "cold"]
    caption = f"""
The first epoch from a cold and from a warm page cache, by the clock, with {loaders["workers"].max():.0f} workers where
there are any. Before the cold runs {cold["input_resident_before"].median():.1%} of the data were resident, after them
{cold["input_resident_after"].median():.0%} (medians). At most a cold start was {slowest:.1f} times as slow. Medians;
n = {loaders["n"].min():.0f}. The clock depends on the disk and on what else the machine does.
"""
    return figure, caption


def plot(loaders):
    reason = "no experiment of this config loads from a cold and from a warm page cache"
    return figures.drawn(both(whole(loaders)), draw, reason)
