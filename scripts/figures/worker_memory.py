"""Heap growth of the largest reading process, by stack and setting, with the rows that it delivered."""

import pandas as pd

from beyond_ram import figures
from beyond_ram.analysis.frame import axes as axes_of
from beyond_ram.analysis.frame import describe
from beyond_ram.experiment import AXES

GROWN = "worker_grown_anon_bytes"
MOST = 40
"""Lines that fit into one picture."""
ROW = 0.3
"""Inches of a row. A line of a label takes 0.6 of it."""


def plot(streaming):
    cells = streaming[streaming[GROWN].notna()]
    if cells.empty:
        return "no experiment of this config streams"
    table = cells.loc[cells[GROWN].nlargest(MOST).index].sort_index().copy()  # in one piece
    table["setting"] = settings(table, cells)
    stacks = list(dict.fromkeys(table["stack"]))
    colours = figures.colours(stacks)
    lines = table.drop_duplicates(["setting", "stack"]).sort_values("stack", key=lambda name: name.map(stacks.index))
    lines, ticks = placed(lines, list(dict.fromkeys(table["setting"])))
    figure, (axes,) = figures.panels(1, max(3.2, ROW * lines["place"].max() + 2.2), 0)
    for line in lines.to_dict("records"):
        low, middle, high = (line[f"{GROWN}{end}"] / figures.MB for end in ("_min", "", "_max"))
        figures.ranged(axes, line["place"], low, middle, high, colours[line["stack"]], line["n"])
        figures.beside(axes, f"{middle:,.1f}", (max(high, 0), line["place"]), 10)
    axes.set_yticks([place for place, _ in ticks], [label for _, label in ticks])
    bottom, top = lines["place"].max() + 1, -1
    axes.set_ylim(bottom, top)
    axes.grid(visible=False, axis="y")
    low, high = table[f"{GROWN}_min"].min() / figures.MB, table[f"{GROWN}_max"].max() / figures.MB
    axes.set_xlim(min(low, 0) - 0.03 * high, 1.25 * high)
    axes.set_xlabel("heap growth (MB)")
    label_rows(axes, lines, (bottom, top))
    marks = [figures.handle(stack, linestyle="", marker="o", markersize=8, color=colours[stack]) for stack in stacks]
    figure.legend(handles=marks, loc="outside lower center", ncols=min(3, len(stacks)))
    return figure, caption(table, len(cells))


def settings(table, cells):
    """Name the setting of each line by the axes that vary, with the experiment if that is not enough."""
    varied = [axis for axis in axes_of(cells) if axis in AXES and axis != "stack" and cells[axis].nunique() > 1]
    names = table.assign(
        setting=[", ".join(describe(line, varied or ["workers"])) for line in table.to_dict("records")]
    )
    unique = not names.duplicated(["setting", "stack"]).any()
    return names["setting"] if unique else names["experiment"] + ": " + names["setting"]


def placed(lines, names):
    """Give each line its place from top to bottom. Returns the lines, and places and labels of the settings."""
    groups, ticks, top = [], [], 0.0
    for name in names:
        group, label = lines[lines["setting"] == name], figures.fill(name, 2.3)
        room = max(len(group) + 0.8, 0.6 * (label.count("\n") + 1) + 0.4)
        middle = top + (room - 1) / 2
        groups.append(group.assign(place=[middle + n - (len(group) - 1) / 2 for n in range(len(group))]))
        ticks.append((middle, label))
        top += room
    return pd.concat(groups), ticks


def label_rows(axes, lines, limits):
    """Write rows and repeats of each line on the right edge, outside of the picture."""
    right = axes.twinx()
    right.set_ylim(*limits)
    texts = [f"{line.rows_per_worker_min:,.0f} rows, n = {line.n:.0f}" for line in lines.itertuples()]
    right.set_yticks(list(lines["place"]), texts)
    right.grid(visible=False)
    right.tick_params(length=0)


def caption(table, cells):
    top = table.loc[table[GROWN].idxmax()]
    spread = "Medians; lines from the lowest to the highest repeat; hollow for one run."
    spread = spread if table["n"].max() > 1 else "One run each."
    hidden = "" if len(table) == cells else f"Of {cells} cells, those with most growth are drawn. "
    return f"""
Heap growth of the largest reading process since its start: a worker, or the main process without workers. On the right,
the rows that the least busy worker delivered: a starved worker looks thrifty. {spread} {hidden}The largest of {cells}
cells is {top[GROWN] / figures.MB:,.0f} MB ({top["stack"]}, {top["setting"]}). Each process reads its memory with every
batch, so spikes within a batch are missed.
"""
