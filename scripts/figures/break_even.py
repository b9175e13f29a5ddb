"""Streaming against a copy on disk: time over epochs, and from which epoch on the copy is faster."""

import pandas as pd

from beyond_ram import figures
from beyond_ram.analysis.streaming import break_even

WAYS = {"stream": "streamed", "download": "downloaded, then read from disk"}
LEAST_EPOCHS = 4


def plot(streaming):
    found = break_even(streaming)
    return figures.drawn(found, draw, "no experiment of this config both streams and downloads")


def conditions(row):
    width = f"{row['bandwidth_mb_per_s']:.0f} MB/s" if row["bandwidth_mb_per_s"] else "no bound"
    who = f"{row['workers']} workers" if row["workers"] else "no workers"
    return f"{width}, {row['latency_ms']:.0f} ms, {who}"


def draw(found):
    figure, panels = figures.panels(len(found), lambda columns, rows: (max(7.5, 4.4 * columns), 3.8 * rows + 0.6))
    colours = figures.colours(WAYS)
    sentences = []
    for axes, row in zip(panels, found.to_dict("records"), strict=True):
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
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=10)
    fewest = int(found[["stream_n", "download_n"]].to_numpy().min())
    caption = f"""
Time in all over the number of epochs, with what comes before the first one. The dotted line is the first number of
epochs at which a copy on disk takes less time: {"; ".join(sentences)}. First and later epochs are measured, n =
{fewest} or more, and the line between and beyond them is drawn from those two.
"""
    return figure, caption
