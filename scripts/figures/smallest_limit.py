"""The smallest memory limit of each cell, and what each reading without a limit would have said."""

import seaborn as sns

from beyond_ram import figures
from beyond_ram.metrics.limits import PREDICTORS

MARKERS = "oD^v"


def plot(limits):
    if limits.empty:
        return "no experiment of this config looks for limits"
    not_run = limits["not_run"].iloc[0]
    limits = limits.dropna(subset=["completed_at_bytes", "killed_at_bytes"])
    if limits.empty:
        return not_run
    limits = limits.assign(cell=figures.cell_labels(limits)).sort_values("completed_at_bytes")
    names = list(dict.fromkeys(limits["cell"]))
    colours = sns.color_palette("colorblind", len(PREDICTORS))
    figure, (axes,) = figures.panels(1, 1.2 * len(names) + 2.4, 0)
    for place, name in enumerate(names):
        mine = limits[limits["cell"] == name]
        for row in mine.to_dict("records"):
            completed, killed = row["completed_at_bytes"] / figures.MB, row["killed_at_bytes"] / figures.MB
            axes.plot([killed, completed], [place - 0.35] * 2, color="#222222", linewidth=2, marker="|", markersize=12)
            for number, reading in enumerate(PREDICTORS):
                x, y = row[f"peak_{reading}"] / figures.MB, place - 0.15 + 0.15 * number
                axes.plot(x, y, MARKERS[number], color=colours[number], markerfacecolor="none", markersize=8)
        low, high = mine["killed_at_bytes"].min() / figures.MB, mine["completed_at_bytes"].max() / figures.MB
        said = f"{low:,.0f} to {high:,.0f} MB (n = {len(mine)})"
        figures.beside(axes, said, (high, place - 0.35), 8, annotation_clip=False)
        axes.axhline(place + 0.5, color="0.8", linewidth=0.8)
    axes.set_yticks(range(len(names)), [figures.fill(name, 1.8) for name in names])
    axes.grid(axis="y", visible=False)
    axes.set_ylim(len(names) - 0.5, -0.6)
    axes.set_xlim(0, 1.2 * axes.get_xlim()[1])  # room for the numbers
    axes.set_xlabel("memory (MB)")
    handles = [
        figures.handle(label, linestyle="", marker=MARKERS[n], color=colours[n], markerfacecolor="none", markersize=8)
        for n, label in enumerate(PREDICTORS.values())
    ]
    label = "limit: killed at the left end, completed at the right"
    handles.append(figures.handle(label, color="#222222", linewidth=2, marker="|", markersize=12))
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    errors = limits[[f"error_{name.removesuffix('_bytes')}" for name in PREDICTORS]]
    ends = zip(PREDICTORS.values(), errors.min(), errors.max(), strict=True)
    said = "; ".join(f"{label} {' to '.join(dict.fromkeys([signed(low), signed(high)]))}" for label, low, high in ends)
    ratios = limits["time_ratio"]
    n = figures.counts(limits.groupby("cell").size())
    caption = f"""
The smallest limit under which each cell completes, found by bisection with real limits of the kernel ({n} bisection a
cell): up to the left end of the black line it was killed, from its right end on it completes. Markers are readings of
the same cell without a limit. What they say above (+) or below (-) the smallest limit: {said}. Just above the limit
the work took {ratios.min():.2f} to {ratios.max():.2f} times as long as without one, one run each.
"""
    return figure, caption


def signed(share):
    return f"{share:+.0%}" if abs(share) >= 0.005 else "less than 1% off"
