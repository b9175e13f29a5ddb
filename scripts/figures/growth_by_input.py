"""Memory by input, and whether it grows: linearly, to a level, or not."""

import pandas as pd

from beyond_ram import figures
from beyond_ram.analysis.frame import axes as axes_of
from beyond_ram.analysis.frame import describe, same_but_for, varied
from beyond_ram.analysis.growth import fitted as fit_of
from beyond_ram.analysis.growth import in_words, read_closely

KINDS = {"anon": "anonymous memory", "file": "file memory"}
MARKERS = "osD^vX"
MOST_LINES = 12


def plot(records, samples, growth):
    if growth.empty:
        return "no cell of this config has more than one input size"
    growth = growth[growth["cache"] == "cold"]
    hidden = ""
    if len(growth) > MOST_LINES:
        hidden = f" Of {len(growth)} cells, those with the largest rise are shown; table `growth` has all."
        growth = growth.loc[growth["anon_rise_mb"].nlargest(MOST_LINES).index].sort_index()
    growth = growth.assign(named=named(growth))
    modes, order = sorted(growth["mode"].unique()), figures.subject_order(growth)
    subjects = sorted(growth["named"].unique(), key=lambda subject: (order.index(subject.partition(";")[0]), subject))
    colours = figures.colours(subjects)
    width, shared = max(figures.WIDE, 4.4 * len(modes)), {"sharey": "row", "sharex": "col"}
    figure, grid = figures.rows(len(KINDS), 3.2 * len(KINDS), len(modes), width, **shared)
    cells = [record["cell"] for record, _ in records]
    for line in growth.to_dict("records"):
        runs = read_closely(records, samples, places(cells, line))
        number, column = subjects.index(line["named"]), modes.index(line["mode"])
        for row, kind in enumerate(KINDS):
            draw_cell(grid[row][column], runs, line, kind, MARKERS[number % len(MARKERS)], colours[line["named"]])
    for row, label in enumerate(KINDS.values()):
        for column, mode in enumerate(modes):
            axes = grid[row][column]
            axes.set_title(f"{mode}: {label}")
            axes.set_xlabel("text done (MB)" if row == len(KINDS) - 1 else "")
            axes.set_ylabel("memory (MB)" if column == 0 else "")
            axes.set_xlim(left=0)
            axes.set_ylim(bottom=0)
    style = {"markerfacecolor": "none", "markersize": 6}
    marks = [
        figures.handle(name, marker=MARKERS[number % len(MARKERS)], color=colours[name], **style)
        for number, name in enumerate(subjects)
    ]
    figure.legend(handles=marks, loc="outside lower center", ncols=1 if max(map(len, subjects)) > 30 else 2)
    sentences = [f"{line['named']}, {line['mode']}: {in_words(line)}" for line in growth.to_dict("records")]
    caption = f"""
Memory by the amount of processed text, read between documents in the runs with the largest input; without such
readings, at the ends of runs of several sizes. Marks are means of the runs. A line with a wedge is confirmed growth
with the 95 % interval of its slope or level; without a fit, growth is not confirmed. Anonymous memory:
{"; ".join(sentences)}. Slopes hold for the measured input{far_away(growth)}.{hidden}
"""
    return figure, caption


def named(growth):
    """Name the subject of each line, with the settings that differ between lines of one mode."""
    # Axes that neither the subject nor the panel names.
    settings = [axis for axis in axes_of(growth) if axis not in ("stack", "corpus", "mode")]
    differ = {axis for _, group in same_but_for(growth, "stack", "corpus", *settings) for axis in varied(group)}
    shown = [axis for axis in settings if axis in differ]
    words = ["".join(f"; {word}" for word in describe(line, shown)) for line in growth.to_dict("records")]
    return figures.subjects(growth) + words


def places(cells, line):
    """The places of the runs behind a line of table `growth`."""
    settings = {axis: line[axis] for axis in axes_of(pd.DataFrame([line]))}
    return [place for place, cell in enumerate(cells) if all(cell.get(axis) == settings[axis] for axis in settings)]


def far_away(growth):
    """A clause that says how far a gigabyte is from the measured input."""
    far = growth["gb_over_largest"].min()
    return f"; a gigabyte, at least {far:,.0f} times as much, was not measured" if far > 1 else ""


def draw_cell(axes, runs, line, kind, marker, colour):
    """Draw the readings of a cell and its fit."""
    fit = fit_of(runs, pd.Series(line).drop("named"), kind)
    if fit is None:
        return
    x, y = fit.trace.bytes_in / figures.MB, fit.trace.memory[kind] / figures.MB
    axes.plot(x, y, marker, color=colour, markerfacecolor="none", markersize=6, label=line["named"])
    if fit.fitted_mb is not None:
        axes.plot(fit.input_gb * 1000, fit.fitted_mb, color=colour, linewidth=1.5)
    if fit.low_mb is not None:
        axes.fill_between(fit.input_gb * 1000, fit.low_mb, fit.high_mb, color=colour, alpha=0.12, linewidth=0)
