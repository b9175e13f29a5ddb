"""Anonymous memory after each epoch of the same work."""

import pandas as pd

from beyond_ram import figures
from beyond_ram.analysis.frame import axes as axes_of
from beyond_ram.analysis.thresholds import EPOCH_BYTES, EPOCH_SHARE
from beyond_ram.metrics.base import readings
from beyond_ram.units import MB

MOST_LINES = 12
TAKEN = {
    "soak": "documents, memory read after the allocator has given back what it keeps unused",
    "load": "rows through a loader, memory read as it is",
}


def plot(records, regrowth):
    runs = [(record, *points_of(record, events)) for record, events in records]
    points = [point for _, points, _ in runs for point in points]
    hidden = len({tuple((record["cell"] | {"rep": 0}).values()) for record, _, summed in runs if summed})
    if not points:
        return "no cell of this config repeats its work in one process"
    return draw(pd.DataFrame(points), regrowth, hidden)


def points_of(record, events):
    """Memory after each epoch, with each page counted once if known, and whether there is only a sum over processes.

    No points for a run with few epochs.
    """
    epochs = readings(events, "epoch")
    if len(epochs) <= 2:
        return [], False
    before = readings(events, "imported")[-1]["tree"]["anon_bytes"]
    trees = [event["tree"] for event in epochs]
    sizes = [tree["anon_bytes"] if tree.get("processes", 1) == 1 else tree.get("pss_anon_bytes") for tree in trees]
    if None in sizes:
        return [], True
    return [
        {
            **record["cell"],
            "workload": record.get("workload"),
            "epoch": event["epoch"] + 1,
            "mb": (size - before) / figures.MB,
        }
        for event, size in zip(epochs, sizes, strict=True)
    ], False


def fewer(points, regrowth):
    """The settings with most memory at the end, if there are too many to show all, and their lines of `regrowth`."""
    axes = [axis for axis in axes_of(points) if axis != "stack"]
    cells = points.groupby(axes, dropna=False, sort=False)
    if len(cells) <= MOST_LINES:
        return points, regrowth, ""
    highest = cells["mb"].max().nlargest(MOST_LINES).index
    shown = [frame[frame.set_index(axes).index.isin(highest)] for frame in (points, regrowth)]
    return *shown, f" Of {len(cells)} settings those that come highest are shown; table `regrowth` has all."


def draw(points, regrowth, summed):
    cell = [axis for axis in axes_of(points) if axis in regrowth]
    regrowth = regrowth[regrowth.set_index(cell).index.isin(points.set_index(cell).index)]
    points, regrowth, hidden = fewer(points, regrowth)
    points = points.assign(
        what=figures.cell_labels(points.drop(columns=["stack", "workload", "epoch", "mb", "rep"], errors="ignore"))
    )
    stacks, kinds = points["stack"].unique(), points["what"].unique()
    colours = figures.colours(kinds)
    figure, grid = figures.rows(len(stacks), 2.6 * len(stacks) + 0.4, sharex=True, sharey=True)
    for axes, stack in zip(grid[:, 0], stacks, strict=True):
        mine = points[points["stack"] == stack]
        for number, (what, line) in enumerate(mine.groupby("what", sort=False)):
            beside = 0.08 * (number - (mine["what"].nunique() - 1) / 2)  # equal lines would hide each other
            label = f"{what} (n = {line['rep'].nunique()})"
            style = {"marker": "osDX^v"[number % 6], "markerfacecolor": "none", "color": colours[what]}
            for _, run in line.groupby("rep"):
                axes.plot(run["epoch"] + beside, run["mb"], linewidth=1.2, label=label, **style)
        axes.set(title=stack)
        axes.xaxis.get_major_locator().set_params(integer=True)
        handles = dict(zip(*axes.get_legend_handles_labels()[::-1], strict=True))
        axes.legend(handles.values(), handles.keys())
    grid[-1][0].set_xlabel("epochs done")
    figure.supylabel("anonymous memory since the imports (MB)")
    grid[0][0].set_ylim(min(0, points["mb"].min()), 1.35 * points["mb"].max())
    fitted = regrowth[regrowth["slope_bytes"].notna()]
    labels = figures.cell_labels(fitted)
    sentences = [f"{label}: {slope_of(row)}" for label, row in zip(labels, fitted.to_dict("records"), strict=True)]
    caption = f"""
Anonymous memory after each epoch; every epoch repeats the same input{
        work_of(points)
    }. A line is a run. A warm-up levels
off, a leak does not. Slopes over the later half of the epochs, over all runs:
{"; ".join(sentences) or "too few epochs for a slope"}. A cell grows if the interval lies above
{EPOCH_BYTES / MB:.1f} MB and {EPOCH_SHARE:.0%} of the input of an epoch, and levels off if it lies below.{hidden}{
        left_out(summed)
    }
"""
    return figure, caption


def work_of(points):
    """The work of an epoch, for the drawn workloads."""
    work = [TAKEN[workload] for workload in points["workload"].unique() if workload in TAKEN]
    return f": {'; '.join(work)}" if work else ""


def left_out(summed):
    if not summed:
        return ""
    cells = "a setting" if summed == 1 else f"{summed} settings"
    return f" Not drawn: {cells} with only sums over several processes, which count shared pages several times."


def slope_of(row):
    """The slope of a cell, its certainty, and its meaning."""
    slope, low, high = (row[f"slope_bytes{end}"] / figures.MB for end in ("", "_low", "_high"))
    if pd.isna(low):
        return f"{slope:+,.2f} MB an epoch in one run, which decides nothing"
    return f"{slope:+,.2f} MB an epoch (95 % {low:+,.2f} to {high:+,.2f}, n = {row['n']:.0f}), {row['regrowth']}"
