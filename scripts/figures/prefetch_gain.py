"""What reading ahead gains over its default, at each latency and bandwidth."""

import numpy as np
import seaborn as sns
from matplotlib.colors import TwoSlopeNorm

from beyond_ram import figures
from beyond_ram.analysis.frame import same_but_for
from beyond_ram.analysis.streaming import gains


def plot(streaming):
    gained = gains(streaming)
    return figures.drawn(gained, draw, "no experiment of this config varies Parquet's reading ahead")


def draw(gained):
    cells = list(same_but_for(gained, "experiment", "latency_ms", "bandwidth_mb_per_s", "epochs"))
    figure, panels = figures.panels(len(cells), lambda columns, rows: (4.4 * columns + 1, 3.4 * rows + 0.6))
    reach = max(abs(np.log2(gained["gain"])).max(), 0.1)
    norm = TwoSlopeNorm(0, -reach, reach)
    for axes, (cell, part) in zip(panels, cells, strict=True):
        square = part.pivot_table(index="latency_ms", columns="bandwidth_mb_per_s", values="gain", sort=True)
        # 0 stands for no bound, which is the widest of all.
        square = square[sorted(square.columns, key=lambda width: width or float("inf"))]
        sns.heatmap(
            np.log2(square),
            ax=axes,
            cmap="vlag",
            norm=norm,
            annot=square.map("{:.2f}".format),
            fmt="",
            cbar=False,
            linewidths=1,
            xticklabels=[f"{width:.0f}" if width else "unbounded" for width in square.columns],
        )
        who = f"{cell['workers']} workers" if cell["workers"] else "no workers"
        axes.set_title(f"{cell['buffering']}\n{cell['stack']}, {cell['repository']}, {who}", fontsize=10)
        axes.set(xlabel="bandwidth (MB/s)", ylabel="latency (ms)")
        axes.invert_yaxis()
    best, worst = gained.loc[gained["gain"].idxmax()], gained.loc[gained["gain"].idxmin()]
    caption = f"""
Rows per second with Parquet's reading ahead set by hand, over rows per second with its default, under the same
latency and bandwidth: above 1 it is faster. Largest {best["gain"]:.2f} ({place(best)}), smallest
{worst["gain"]:.2f} ({place(worst)}). Medians on each side, n = {int(gained["n"].min())} at least; with one
run a difference of some ten percent may be the machine's. There is no single number: what helps depends
on the way to the files.
"""
    return figure, caption


def place(row):
    width = f"{row['bandwidth_mb_per_s']:.0f} MB/s" if row["bandwidth_mb_per_s"] else "no bound on bandwidth"
    return f"{row['buffering']}, {row['latency_ms']:.0f} ms, {width}"
