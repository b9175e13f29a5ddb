"""Streaming against a copy on disk: time over epochs, and from which epoch on the copy is faster."""

import math

import numpy as np

from beyond_ram import figures
from beyond_ram.analysis.streaming import break_even

WAYS = {"stream": "streamed", "download": "downloaded, then read from the copy"}
LEAST_EPOCHS, MOST_EPOCHS = 4, 30


def plot(streaming):
    table = break_even(streaming)
    if table.empty:
        return "no experiment of this config both streams and downloads"
    figure, panels = figures.panels(len(table), 3.2)
    colours = figures.colours(WAYS)
    for axes, row in zip(panels, table.to_dict("records"), strict=True):
        even = row["epochs"]
        last = max(LEAST_EPOCHS, even + 1 if even < MOST_EPOCHS else 0, *(row[f"{mode}_epochs"] for mode in WAYS))
        for mode, label in WAYS.items():
            way(axes, row, mode, int(last), colours[mode], label)
        if even <= last:
            axes.axvline(even, color="#222222", linestyle=":", linewidth=1.2)
        numbers = f"n = {row['stream_n']:.0f} and {row['download_n']:.0f}"
        axes.set_title(figures.fill(f"{row['stack']}, {row['repository']}, {numbers}\n{conditions(row)}", 3))
        axes.set(xlabel="epochs", ylabel="time in all (s)", ylim=(0, None))
        axes.xaxis.get_major_locator().set_params(integer=True)
    panels[0].plot([], [], "--", color="#666666", label="extrapolated")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    verdicts = "; ".join(f"{row['stack']}, {conditions(row)}: {verdict(row)}" for row in table.to_dict("records"))
    caption = f"""
Total time by number of epochs, with preparation before the first one. Dots are measured epochs (medians; hollow: one
run), bands reach from the fastest to the slowest repeat. Dashed lines are extrapolated with the time of a later epoch,
or of the first one if there is no other. The dotted line is the number of epochs from which a copy on disk takes less
time: {verdicts}.{of_endpoint(table)}
The copy is read right after its download. How much of it came from the page cache was not recorded; a copy larger than
memory may take longer.
"""
    return figure, caption


def conditions(row):
    width = f"{row['bandwidth_mb_per_s']:.0f} MB/s" if row["bandwidth_mb_per_s"] else "no bound"
    who = f"{row['workers']} workers" if row["workers"] else "no workers"
    return f"{width}, {row['latency_ms']:.0f} ms, {who}"


def total(row, mode, epochs, end=""):
    """Total seconds after a number of epochs."""
    return row[f"{mode}_first_s{end}"] + (epochs - 1) * row[f"{mode}_later_s{end}"]


def way(axes, row, mode, last, colour, label):
    """Draw one way's time over epochs: measured and extrapolated."""
    measured, epochs = np.arange(1, int(row[f"{mode}_epochs"]) + 1), np.arange(1, last + 1)
    filled = colour if row[f"{mode}_n"] > 1 else "white"
    axes.plot(
        measured, total(row, mode, measured), "o-", color=colour, label=label, markersize=6, markerfacecolor=filled,
        zorder=3,
    )  # fmt: skip
    beyond = epochs[measured[-1] - 1 :]
    axes.plot(beyond, total(row, mode, beyond), "--", color=colour)
    if row[f"{mode}_n"] > 1:
        ends = (total(row, mode, epochs, end) for end in ("_min", "_max"))
        axes.fill_between(epochs, *ends, color=colour, alpha=0.15, linewidth=0)


def of_endpoint(table):
    """A sentence with the endpoint's share of streamed epochs, if it was measured."""
    shares = table["stream_endpoint_share"].dropna()
    least, most = (f"{share:.0%}" for share in (shares.min(), shares.max()))
    busy = least if least == most else f"{least} to {most}"
    note = f" Of a streamed epoch the endpoint, on the same processors, was busy for {busy} (medians of repeats)."
    return note if len(shares) else " The endpoint's work is in all times."


def verdict(row):
    """From which epoch on a copy is faster, how certain that is, and whether that many epochs were measured."""
    even = "never" if math.isinf(row["epochs"]) else f"from epoch {row['epochs']:.0f} on"
    least, most = row["epochs_least"], row["epochs_most"]
    if math.isnan(least):
        sure = "one run of a way, so nothing says how sure that is"
    elif math.isinf(least):
        sure = "by all repeats"
    else:
        sure = f"by the repeats from {least:.0f}, " + ("or never" if math.isinf(most) else f"to {most:.0f}")
    measured = min(row[f"{mode}_epochs"] for mode in WAYS)
    far = f", extrapolated from {measured:.0f}" if measured < row["epochs"] else ""
    return f"{even} ({sure}{far})"
