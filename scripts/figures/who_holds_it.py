"""Owners that released the growth of anonymous memory: a bar per cell, with its cause."""

from beyond_ram import figures
from beyond_ram.analysis.frame import axes as axes_of
from beyond_ram.analysis.growth import SIZE
from beyond_ram.analysis.owners import RESIDUE

MOST_BARS = 14


def plot(owners, verdicts):
    if "workers" in owners:  # several processes: shared pages would count once for each
        owners = owners[~(owners["workers"] > 0)]
    if owners.empty:
        return "no run of this config let its owners go"
    smaller = len(owners) > len(owners := largest(owners))
    owners = owners.assign(cell=figures.cell_labels(owners))
    # A step may occur several times a run: an owner's release is their sum.
    released = owners.groupby(["cell", "rep", "owner"])["anon_released_bytes"].sum().unstack("owner").fillna(0)
    grown = owners.groupby(["cell", "rep"])["anon_grown_bytes"].first() / figures.MB
    middle = grown.groupby("cell").median().sort_values(ascending=False)
    cells = middle.index[:MOST_BARS].tolist()
    parts = released.groupby("cell").median().reindex(cells) / figures.MB
    most = parts.max().sort_values(ascending=False)
    names = [name for name in most[most > 0.005 * middle.max()].index if name != RESIDUE]
    colours = figures.colours(names) | {RESIDUE: "#555555"}
    figure, (axes,) = figures.panels(1, 0.5 * len(cells) + 2.4, 0)
    left = draw_bars(axes, parts, names, colours)
    verdicts = largest(verdicts)
    judged = verdicts.assign(cell=figures.cell_labels(verdicts, like=owners)).drop_duplicates("cell").set_index("cell")
    for place, cell in enumerate(cells):
        runs = grown[cell]
        if len(runs) > 1:
            axes.plot([runs.min(), runs.max()], [place] * 2, color="black", linewidth=1.5, marker="|", markersize=9)
        verdict, by = judged["verdict"].get(cell, ""), judged["owner"].get(cell, "")
        label = f"{verdict}: {by} (n = {len(runs)})" if by else f"{verdict} (n = {len(runs)})"
        figures.beside(axes, label, (max(left[cell], runs.max()), place), 6)
    axes.set_yticks(range(len(cells)), [figures.fill(cell, 1.9) for cell in cells])
    axes.set_ylim(len(cells) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_xlim(0, 1.7 * max(*left.values(), grown.max()))
    axes.set_xlabel("anonymous memory above the imports at the teardown (MB)")
    figure.legend(loc="outside lower center", ncols=2)
    top = cells[0]
    shares = released.loc[top].div(grown[top] * figures.MB, axis=0).median()
    hidden = f" Of {len(middle)} cells those that grew most are shown." if len(middle) > len(cells) else ""
    hidden += " Of each cell only the largest input is shown." if smaller else ""
    n = grown.groupby("cell").size().reindex(cells)
    ranges = " Black lines go from the run that grew least to the one that grew most." if n.max() > 1 else ""
    owner, share = shares.idxmax(), f"{shares.max():.0%}"
    freed = f"{share} were not released" if owner == RESIDUE else f"releasing {owner} freed {share}"
    caption = f"""
At the end of the work all objects are kept, then released owner by owner; memory is read from outside after each step.
The rest, above the memory after the imports, is the residue, which no owner released. Bars are
{"medians of the runs" if n.max() > 1 else "one run each"} ({figures.counts(n)}).{ranges} The text beside a bar
is the cause. {top} grew by {middle[top]:,.0f} MB, and {freed}.{hidden} Cells with worker processes are left out,
because shared pages would count once per process.
"""
    return figure, caption


def draw_bars(axes, parts, names, colours):
    """Draw a stacked bar per cell, and return the end of each. `parts` [cells, owners] is in MB."""
    cells = parts.index.tolist()
    labels = {name: f"released with: {name}" for name in names} | {RESIDUE: "not released: residue"}
    left = dict.fromkeys(cells, 0.0)
    for name in [*names, RESIDUE]:
        widths = parts[name].clip(lower=0) if name in parts else parts.sum(axis=1) * 0
        axes.barh(
            cells, widths, left=[left[cell] for cell in cells], color=colours[name], label=labels[name], height=0.7
        )
        left = {cell: left[cell] + widths[cell] for cell in cells}
    return left


def largest(owners):
    """The lines of the largest input of each setting."""
    axes = [axis for axis in axes_of(owners) if axis != SIZE]
    if SIZE in owners:
        most = owners.groupby(axes, dropna=False)[SIZE].transform("max")
        owners = owners[(owners[SIZE] == most) | most.isna()]
    return owners
