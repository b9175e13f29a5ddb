"""The smallest memory limit of each cell, and what each reading without a limit would have said."""

import matplotlib.pyplot as plt
import seaborn as sns

from beyond_ram import figures
from beyond_ram.metrics.limits import PREDICTORS

MARKERS = "osD^v"


def plot(limits):
    known = limits.dropna(subset=["completed_at_bytes", "killed_at_bytes"])
    reason = "no experiment of this config looks for limits" if limits.empty else limits["not_run"].iloc[0]
    return figures.drawn(known, draw, reason)


def draw(limits):
    limits = limits.assign(cell=figures.cell_labels(limits)).sort_values("completed_at_bytes")
    colours = sns.color_palette("colorblind", len(PREDICTORS))
    figure, axes = plt.subplots(figsize=(11, 0.9 * len(limits) + 2.2), layout="constrained")
    for place, row in enumerate(limits.to_dict("records")):
        completed, killed = row["completed_at_bytes"] / figures.MB, row["killed_at_bytes"] / figures.MB
        axes.barh(place, completed, color="#cccccc", height=0.62, zorder=1)
        axes.barh(place, completed - killed, left=killed, color="#222222", height=0.62, zorder=2)
        axes.annotate(
            f"{completed:,.0f} MB", (completed, place - 0.36), ha="left", va="bottom", fontsize=9, annotation_clip=False
        )
        for number, name in enumerate(PREDICTORS):
            axes.plot(
                row[f"peak_{name}"] / figures.MB,
                place + 0.2 * (number / 2 - 1),
                MARKERS[number],
                color=colours[number],
                markeredgecolor="white",
                markersize=9,
                zorder=3,
            )
    axes.set_yticks(range(len(limits)), limits["cell"])
    axes.set_ylim(len(limits) - 0.5, -0.7)  # from top to bottom, with room for the first number
    axes.set_xlabel("memory limit (MB)")
    handles = [
        plt.Line2D([], [], linestyle="", marker=MARKERS[n], color=colours[n], markersize=8, label=label)
        for n, label in enumerate(PREDICTORS.values())
    ]
    handles.append(plt.Rectangle((0, 0), 1, 1, color="#222222", label="killed at the left end, completed at the right"))
    axes.legend(handles=handles, fontsize=9, loc="upper center", bbox_to_anchor=(0.45, -0.18), ncols=3)
    errors = limits[[f"error_{name.removesuffix('_bytes')}" for name in PREDICTORS]].abs()
    worst = errors.max()
    said = "; ".join(f"{label} {value:.0%}" for label, value in zip(PREDICTORS.values(), worst, strict=True))
    ratios = limits["time_ratio"]
    caption = f"""
The smallest limit under which each cell completes, found by bisection with real limits of the kernel: up to the black
bar it was killed, from its right end on it completes. Markers are readings of the same cell without a limit. Their
largest errors against the smallest limit: {said}. Just above the limit the work takes {ratios.min():.2f} to
{ratios.max():.2f} times as long as without one. One run each.
"""
    return figure, caption
