"""Memory at the end of the work against the number of files, with the fitted slope and its interval."""

import matplotlib.pyplot as plt
import pandas as pd

from beyond_ram import figures
from beyond_ram.analysis.frame import axes as axes_of
from beyond_ram.analysis.frame import describe, same_but_for, varied, where
from beyond_ram.analysis.growth import fitted as fit_of

KINDS = {"anon": "anonymous memory", "file": "file memory"}


def plot(runs, growth):
    runs = where(runs, workload="tokenize")
    reason = "no cell of this config has more than one input size"
    return figures.drawn(growth, lambda growth: draw(runs, growth), reason)


def named(growth):
    """The subject of each line, and those settings that differ between lines of one mode."""
    differ = {a for _, group in same_but_for(growth, *figures.SUBJECT, *settings(growth)) for a in varied(group)}
    shown = [axis for axis in settings(growth) if axis in differ]
    said = ["".join(f"; {word}" for word in describe(line, shown)) for line in growth.to_dict("records")]
    return figures.subjects(growth) + said


def settings(growth):
    """The axes beside what a subject is called by, and what the panels are."""
    return [axis for axis in axes_of(growth) if axis not in (*figures.SUBJECT, "mode")]


def ticks(sizes_mb, num_files):
    """Where the ticks are, and their labels; of two that would cover each other the larger input has one."""
    apart, last, labels = 0.11 * sizes_mb.max(), float("inf"), {}
    for size, files in sorted(zip(sizes_mb, num_files, strict=True), reverse=True):
        fits = last - size > apart
        labels[size] = f"{files:.0f}\n{size:,.0f} MB" if fits else ""
        last = size if fits else last
    return list(labels), list(labels.values())


def draw(runs, growth):
    growth = growth[growth["cache"] == "cold"]
    growth = growth.assign(named=named(growth))
    modes, order = sorted(growth["mode"].unique()), figures.subject_order(growth)
    subjects = sorted(growth["named"].unique(), key=lambda subject: (order.index(subject.partition(";")[0]), subject))
    colours = figures.colours(subjects)
    growth = growth.sort_values("named", key=lambda names: names.map(subjects.index), kind="stable")
    figure, grid = plt.subplots(
        len(KINDS),
        len(modes),
        figsize=(5.6 * len(modes), 3.6 * len(KINDS)),
        squeeze=False,
        layout="constrained",
        sharey="row",
    )
    sentences = []
    for cell in growth.itertuples(index=False):
        values = pd.Series(cell._asdict())
        for row, kind in enumerate(KINDS):
            axes = grid[row][modes.index(cell.mode)]
            slope, low, high = (values[f"{kind}_slope_mb_per_gb{end}"] for end in ("", "_low", "_high"))
            fit = fit_of(runs, values, kind)
            x, line, half = fit.input_gb, fit.fitted_mb, fit.half_mb
            colour = colours[cell.named]
            fitted = "no interval" if half is None else f"{slope:,.0f} MB per GB"
            if half is not None and low <= 0 <= high:
                fitted = "not shown to grow"
            axes.plot(x * 1000, line, color=colour, label=f"{cell.named}: {fitted} (n = {cell.n})")
            if half is not None:
                axes.fill_between(x * 1000, line - half, line + half, color=colour, alpha=0.15, linewidth=0)
            axes.scatter(
                fit.runs["bytes_in"] / figures.MB, fit.runs[f"end_{kind}_bytes"] / figures.MB, color=colour, s=22
            )
            if kind == "anon":
                sentences.append(f"{cell.named} {cell.mode} {figures.interval(slope, low, high)} over {cell.n} runs")
    for row, (kind, label) in enumerate(KINDS.items()):
        for column, mode in enumerate(modes):
            axes = grid[row][column]
            shown = growth.loc[growth["mode"] == mode, "experiment"]
            sizes = runs[(runs["mode"] == mode) & runs["experiment"].isin(shown)].drop_duplicates("num_files")
            axes.set_title(f"{mode}: {label}")
            axes.set_xticks(*ticks(sizes["bytes_in"] / figures.MB, sizes["num_files"]))
            axes.set_xlabel("files, and their text")
            axes.set_ylabel("at end of work (MB)")
            axes.legend(fontsize=8, loc="upper left")
        top = runs.loc[runs["experiment"].isin(growth["experiment"]), f"end_{kind}_bytes"].max()
        grid[row][0].set_ylim(0, 1.45 * top / figures.MB)  # bands may go beyond: points must not vanish below them
    caption = f"""
Memory of the whole process tree at the end of the work, with everything still held, against the input. Points are runs,
lines least-squares fits, bands their 95 % intervals. Slope of anonymous memory in MB per GB of text:
{"; ".join(sentences)}.
A stack whose interval holds 0 has not been shown to grow; a curve through the points instead of a line would make the
slope depend on the sizes chosen.
"""
    return figure, caption
