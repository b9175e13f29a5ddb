"""Streaming against a copy on disk: time over epochs, and from which epoch on the copy is faster."""

import matplotlib.pyplot as plt
import pandas as pd
import seaborn as sns

from beyond_ram import figures
from beyond_ram.analysis.streaming import break_even

WAYS = {"stream": "streamed", "download": "downloaded, then read from disk"}
LEAST_EPOCHS = 4


def plot(streaming):
    found = break_even(streaming)
    reason = "no experiment of this config both streams and downloads"
    return figures.drawn(found, draw, reason)


def conditions(row):
    width = f"{row['bandwidth_mb_per_s']:.0f} MB/s" if row["bandwidth_mb_per_s"] else "no bound"
    who = f"{row['workers']} workers" if row["workers"] else "no workers"
    return f"{width}, {row['latency_ms']:.0f} ms, {who}"


def draw(found):
    columns = min(3, len(found))
    rows = -(-len(found) // columns)
    size = (max(7.5, 4.4 * columns), 3.8 * rows + 0.6)
    figure, grid = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
    colours = dict(zip(WAYS, sns.color_palette("colorblind", 2), strict=True))
    for axes in grid.flat[len(found) :]:
        axes.axis("off")
    sentences = []
    for axes, row in zip(grid.flat, found.to_dict("records"), strict=False):
        even = None if pd.isna(row["epochs"]) else int(row["epochs"])
        epochs = range(1, max(LEAST_EPOCHS, (even or 0) + 2) + 1)
        for mode, label in WAYS.items():
            times = [row[f"{mode}_first_s"] + (epoch - 1) * row[f"{mode}_later_s"] for epoch in epochs]
            axes.plot(epochs, times, "o-", color=colours[mode], label=label, markersize=5)
        if even:
            axes.axvline(even, color="#222222", linestyle=":", linewidth=1.2)
        axes.set_title(f"{row['stack']}, {row['repository']}\n{conditions(row)}", fontsize=10)
        axes.set(xlabel="epochs", ylabel="time in all (s)", ylim=(0, None))
        axes.xaxis.get_major_locator().set_params(integer=True)
        sentences.append(f"{row['stack']}, {conditions(row)}: " + (f"from epoch {even} on" if even else "never"))
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=10)
    fewest = int(found[["stream_n", "download_n"]].to_numpy().min())
    caption = f"""
Time in all over the number of epochs, with what comes before the first one. The dotted line is the first number of
epochs at which a copy on disk takes less time: {"; ".join(sentences)}. First and later epochs are measured, n =
{fewest} or more, and the line between and beyond them is drawn from those two.
"""
    return figure, caption
