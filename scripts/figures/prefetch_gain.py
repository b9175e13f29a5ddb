"""Effect of read-ahead settings on speed, at each latency and bandwidth, from table `comparisons`."""

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.colors import TwoSlopeNorm

from beyond_ram import figures
from beyond_ram.analysis.comparisons import of
from beyond_ram.analysis.frame import same_but_for

# log2 of the ratio with full colour: a factor of two.
REACH = 1.0


def plot(comparisons):
    compared = of(comparisons, "buffering", "rows_per_s")
    compared = compared[compared["mode"].eq("stream")] if len(compared) else compared
    if compared.empty:
        return "no experiment of this config varies Parquet's reading ahead"
    cells = list(same_but_for(compared, "experiment", "latency_ms", "bandwidth_mb_per_s", "epochs"))
    figure, panels = figures.panels(len(cells), 3.2)
    norm = TwoSlopeNorm(0, -REACH, REACH)
    for axes, (cell, part) in zip(panels, cells, strict=True):
        # Only confirmed differences have a colour.
        shown = part.assign(
            colour=np.log2(part["ratio"].where(part["result"].isin(["better", "worse"]), 1.0)), label=label(part)
        )
        square, texts = (
            shown.pivot_table(index="latency_ms", columns="bandwidth_mb_per_s", values=name, aggfunc="first")
            for name in ("colour", "label")
        )
        # 0 means unlimited, the widest bandwidth.
        widths = sorted(square.columns, key=lambda width: width or float("inf"))
        sns.heatmap(
            square[widths], ax=axes, cmap="vlag", norm=norm, annot=texts[widths], fmt="",
            cbar=False, linewidths=1, linecolor="#aaaaaa",
            xticklabels=[f"{width:.0f}" if width else "unbounded" for width in widths],
            yticklabels=[f"{latency:.0f}" for latency in square.index],
        )  # fmt: skip
        who = f"{cell['workers']:.0f} workers" if cell["workers"] else "no workers"
        axes.set_title(figures.fill(f"{cell['buffering']}\n{cell['stack']}, {cell['repository']}, {who}", 3))
        axes.set(xlabel="bandwidth (MB/s)", ylabel="latency (ms)")
        axes.tick_params(axis="y", rotation=0)
        axes.invert_yaxis()
    numbers = compared["result"].value_counts()
    counts = ", ".join(f"{numbers[result]} {result}" for result in numbers.index)
    best, worst = compared.loc[compared["ratio"].idxmax()], compared.loc[compared["ratio"].idxmin()]
    ends = (
        f"Largest of {len(compared)} run here {best['ratio']:.2f} ({place(best)}), smallest {worst['ratio']:.2f} "
        f"({place(worst)})."
        if len(compared) > 1
        else ""
    )
    caption = f"""
Rows per second with a read-ahead setting of Parquet, divided by rows per second with the default, with the same latency
and bandwidth: above 1 it is faster. With 95 % intervals; only confirmed differences above the threshold have a colour.
Of {len(compared)}: {counts}. {ends}
"""
    return figure, caption


def label(part):
    """Each ratio with its interval and n."""
    lines = part.to_dict("records")
    intervals = ["" if pd.isna(line["low"]) else f"{line['low']:.2f} to {line['high']:.2f}\n" for line in lines]
    return [f"{line['ratio']:.2f}\n{ends}n = {line['n']:.0f}" for line, ends in zip(lines, intervals, strict=True)]


def place(row):
    width = f"{row['bandwidth_mb_per_s']:.0f} MB/s" if row["bandwidth_mb_per_s"] else "no bound on bandwidth"
    return f"{row['buffering']}, {row['latency_ms']:.0f} ms, {width}"
