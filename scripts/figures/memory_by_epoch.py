"""Anonymous memory after each epoch of the same work."""

import matplotlib.pyplot as plt
import pandas as pd

from beyond_ram import figures, tables
from beyond_ram.analysis.owners import readings


def plot(paths, regrowth):
    runs = [run for run in tables.read_runs(paths) if len(readings(run[1], "epoch")) > 2]
    return figures.drawn(runs, lambda runs: draw(runs, regrowth), "no cell of this config repeats its work")


def draw(runs, regrowth):
    points = pd.DataFrame(
        {
            **record["cell"],
            "epoch": event["epoch"] + 1,
            "mb": (event["tree"]["anon_bytes"] - readings(events, "imported")[-1]["tree"]["anon_bytes"]) / figures.MB,
        }
        for record, events in runs
        for event in readings(events, "epoch")
    )
    points = points.assign(
        what=figures.cell_labels(points.drop(columns=["stack", "epoch", "mb", "rep"], errors="ignore"))
    )
    stacks, kinds = points["stack"].unique(), points["what"].unique()
    colours = figures.colours(kinds)
    figure, grid = plt.subplots(
        1, len(stacks), figsize=(5.6 * len(stacks), 4.4), squeeze=False, layout="constrained", sharey=True
    )
    for axes, stack in zip(grid[0], stacks, strict=True):
        mine = points[points["stack"] == stack]
        for number, (what, line) in enumerate(mine.groupby("what", sort=False)):
            beside = 0.08 * (number - (mine["what"].nunique() - 1) / 2)  # lines that agree would hide each other
            label = f"{what} (n = {line['rep'].nunique()})"
            for _, run in line.groupby("rep"):
                axes.plot(
                    run["epoch"] + beside,
                    run["mb"],
                    marker="osDX^v"[number % 6],
                    markerfacecolor="none",
                    color=colours[what],
                    linewidth=1.2,
                    label=label,
                )
        axes.set(title=stack, xlabel="epochs done", ylabel="anonymous memory since the imports (MB)")
        axes.xaxis.get_major_locator().set_params(integer=True)
        handles = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
        axes.legend(handles.values(), handles.keys(), fontsize=8)
    grid[0][0].set_ylim(min(0, points["mb"].min()), 1.35 * points["mb"].max())
    known = regrowth[regrowth["slope_bytes"].notna()]
    labels = figures.cell_labels(known)
    sentences = [f"{label}: {slope_of(row)}" for label, row in zip(labels, known.to_dict("records"), strict=True)]
    caption = f"""
Anonymous memory after each epoch, in which one process takes the same documents again, after the allocator has given
back what it keeps unused. A line is a run. A warm-up levels off, a leak does not. Slopes over the later half of the
epochs, decided over the runs: {"; ".join(sentences) or "too few epochs for a slope"}.
"""
    return figure, caption


def slope_of(row):
    """The slope of a cell, how surely, and what it means."""
    slope, low, high = (row[f"slope_bytes{end}"] / figures.MB for end in ("", "_low", "_high"))
    if pd.isna(low):
        return f"{slope:+,.2f} MB an epoch in one run, which decides nothing"
    return f"{slope:+,.2f} MB an epoch (95 % {low:+,.2f} to {high:+,.2f}, n = {row['n']:.0f}), {row['regrowth']}"
