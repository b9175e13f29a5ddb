"""Whom the growth of anonymous memory came free with, a bar a cell, with its verdict."""

import matplotlib.pyplot as plt

from beyond_ram import figures
from beyond_ram.analysis.frame import axes as axes_of
from beyond_ram.analysis.growth import SIZE
from beyond_ram.analysis.owners import RESIDUE

MOST_BARS = 14


def plot(owners, verdicts):
    if "workers" in owners:  # several processes: what they share would count once for each
        owners = owners[~(owners["workers"] > 0)]
    return figures.drawn(owners, lambda owners: draw(owners, verdicts), "no run of this config let its owners go")


def largest(owners):
    """The lines of the largest input of each setting; where a line is of a run, the first repeat's."""
    held = [axis for axis in axes_of(owners) if axis != SIZE]
    owners = owners[owners["rep"] == 1] if "rep" in owners else owners
    if SIZE in owners:
        most = owners.groupby(held, dropna=False)[SIZE].transform("max")
        owners = owners[(owners[SIZE] == most) | most.isna()]
    return owners


def draw(owners, verdicts):
    owners = largest(owners)
    owners = owners.assign(cell=figures.cell_labels(owners))
    grown = owners.groupby("cell")["anon_grown_bytes"].first()
    cells = grown.sort_values(ascending=False).index[:MOST_BARS].tolist()
    names = owners.groupby("owner")["anon_released_bytes"].max().sort_values(ascending=False)
    names = [name for name in names[names > 0.005 * grown.max()].index if name != RESIDUE] + [RESIDUE]
    colours = figures.colours(names)
    colours[RESIDUE] = "#555555"
    figure, axes = plt.subplots(figsize=(11, 0.5 * len(cells) + 2), layout="constrained")
    left = dict.fromkeys(cells, 0.0)
    for name in names:
        mine = owners[owners["owner"] == name].set_index("cell")["anon_released_bytes"].reindex(cells).fillna(0)
        widths = mine.clip(lower=0) / figures.MB
        axes.barh(cells, widths, left=[left[cell] for cell in cells], color=colours[name], label=name)
        left = {cell: left[cell] + widths[cell] for cell in cells}
    verdicts = largest(verdicts)
    judged = verdicts.assign(cell=figures.cell_labels(verdicts, like=owners)).drop_duplicates("cell").set_index("cell")
    for cell in cells:
        verdict = judged["verdict"].get(cell, "")
        by = judged["owner"].get(cell, "")
        axes.annotate(
            f"{verdict}: {by}" if by else verdict,
            (left[cell], cell),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )
    axes.set_ylim(len(cells) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_xlim(0, 1.35 * max(left.values()))
    axes.set_xlabel("growth of anonymous memory since the imports (MB)")
    axes.legend(title="came free with", fontsize=9, loc="lower right")
    top = cells[0]
    shares = owners[owners["cell"] == top].set_index("owner")["share"]
    hidden = f" Of {len(grown)} cells those that grew most are shown." if len(grown) > len(cells) else ""
    caption = f"""
At the end of the work everything is held, and then released owner by owner, in the order of the legend; each step
is read from outside. What is left above the memory after the imports is the residue. Text behind a bar is the verdict.
{top} grew by {grown[top] / figures.MB:,.0f} MB, of which {shares.max():.0%} came free with: {shares.idxmax()}.{hidden}
One run each; cells with worker processes are left out, since pages that processes share would count once for each.
"""
    return figure, caption
