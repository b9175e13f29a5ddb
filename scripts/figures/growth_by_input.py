"""Memory against input done, and whether it was shown to grow: straight, to a level, or not."""

import pandas as pd

from beyond_ram import figures
from beyond_ram.analysis.frame import axes as axes_of
from beyond_ram.analysis.frame import describe, same_but_for, varied
from beyond_ram.analysis.growth import fitted as fit_of
from beyond_ram.analysis.growth import in_words

KINDS = {"anon": "anonymous memory", "file": "file memory"}
MARKERS = "osD^vX"
MOST_LINES = 12


def plot(records, growth):
    if growth.empty:
        return "no cell of this config has more than one input size"
    growth = growth[growth["cache"] == "cold"]
    hidden = ""
    if len(growth) > MOST_LINES:
        hidden = f" Of {len(growth)} cells those that rose most are shown; table `growth` has all."
        growth = growth.loc[growth["anon_rise_mb"].nlargest(MOST_LINES).index].sort_index()
    growth = growth.assign(named=named(growth))
    modes, order = sorted(growth["mode"].unique()), figures.subject_order(growth)
    subjects = sorted(growth["named"].unique(), key=lambda subject: (order.index(subject.partition(";")[0]), subject))
    colours = figures.colours(subjects)
    growth = growth.sort_values("named", key=lambda names: names.map(subjects.index), kind="stable")
    width, shared = max(figures.WIDE, 4.4 * len(modes)), {"sharey": "row", "sharex": "col"}
    figure, grid = figures.rows(len(KINDS), 3.6 * len(KINDS), len(modes), width, **shared)
    sentences = []
    cells = [record["cell"] for record, _ in records]
    for line in growth.to_dict("records"):
        runs = [records[place] for place in places(cells, line)]
        for row, kind in enumerate(KINDS):
            axes = grid[row][modes.index(line["mode"])]
            fitted, number = pd.Series(line).drop("named"), subjects.index(line["named"])
            one(axes, runs, fitted, kind, colours, number, line["named"])
        sentences.append(f"{line['named']}, {line['mode']}: {in_words(line)}")
    for row, label in enumerate(KINDS.values()):
        for column, mode in enumerate(modes):
            axes = grid[row][column]
            axes.set_title(f"{mode}: {label}")
            axes.set_xlabel("text done (MB)" if row == len(KINDS) - 1 else "")
            axes.set_ylabel("memory (MB)" if column == 0 else "")
            axes.set_xlim(left=0)
            axes.legend(loc="upper left")
    for panels in grid:
        figures.below_legends(figure, panels)
    caption = f"""
Memory of the work against the text that it has done, as read between documents within the runs of most input; where
runs have no such readings, at the ends of runs of several sizes, and the legend says so. Marks are means of the runs. A
line with a wedge stands where growth was shown: the slope and its 95 % interval; a curve, where memory levels off. Of
what was not shown to grow no fit is drawn. Anonymous memory: {"; ".join(sentences)}. Slopes hold for the input weighed
here{far_away(growth)}.{hidden}
"""
    return figure, caption


def named(growth):
    """The subject of each line, and those settings that differ between lines of one mode."""
    # The axes beside what a subject is called by, and what the panels are.
    settings = [axis for axis in axes_of(growth) if axis not in ("stack", "corpus", "mode")]
    differ = {axis for _, group in same_but_for(growth, "stack", "corpus", *settings) for axis in varied(group)}
    shown = [axis for axis in settings if axis in differ]
    said = ["".join(f"; {word}" for word in describe(line, shown)) for line in growth.to_dict("records")]
    return figures.subjects(growth) + said


def places(cells, line):
    """Where the runs of a line of table `growth` are."""
    held = {axis: line[axis] for axis in axes_of(pd.DataFrame([line]))}
    return [place for place, cell in enumerate(cells) if all(cell.get(axis) == held[axis] for axis in held)]


def far_away(growth):
    """How far a gigabyte is from what was weighed."""
    far = growth["gb_over_largest"].min()
    return f": a gigabyte would be {far:,.0f} times the largest or more, and was not weighed" if far > 1 else ""


def one(axes, records, line, kind, colours, number, name):
    """The marks of a cell, and its fit."""
    fit, colour = fit_of(records, line, kind), colours[name]
    said = figures.fill(f"{name}: {in_words(line.to_dict(), kind, short=True)}", 3.6)
    if fit is None:
        axes.plot([], [], color=colour, label=said)
        return
    x, y = fit.trace.bytes_in / figures.MB, fit.trace.memory[kind] / figures.MB
    axes.plot(x, y, MARKERS[number % 6], color=colour, markerfacecolor="none", markersize=6, label=said)
    if fit.fitted_mb is not None:
        axes.plot(fit.input_gb * 1000, fit.fitted_mb, color=colour, linewidth=1.5)
    if fit.low_mb is not None:
        axes.fill_between(fit.input_gb * 1000, fit.low_mb, fit.high_mb, color=colour, alpha=0.12, linewidth=0)
