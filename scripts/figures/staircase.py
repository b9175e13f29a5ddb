"""Anonymous memory after each shard: cold, interrupted, rerun and warm; shards from cache marked."""

import matplotlib.pyplot as plt

from beyond_ram import figures
from beyond_ram.analysis.shards import steps as steps_of

STATES = ["cold", "interrupted", "rerun", "warm"]
MARKERS = {"cold": "o", "interrupted": "X", "rerun": "s", "warm": "D"}


def plot(shards):
    shards = shards[shards["mode"] == "shard"]
    shards = shards[shards["experiment"].isin(shards.loc[shards["cache"] == "rerun", "experiment"].unique())]
    return figures.drawn(shards, draw, "no cell of this config is interrupted and rerun")


def draw(shards):
    largest = shards["num_files"].max()
    shards = shards[shards["num_files"] == largest].assign(subject=figures.subjects)
    subjects = figures.subject_order(shards)
    states = [state for state in STATES if state in set(shards["cache"])]
    colours = figures.colours(STATES)
    figure, grid = plt.subplots(
        1, len(subjects), figsize=(5.6 * len(subjects), 4.4), squeeze=False, layout="constrained", sharey=True
    )
    for axes, subject in zip(grid[0], subjects, strict=True):
        for place, state in enumerate(states):
            beside = 0.08 * (place - (len(states) - 1) / 2)  # states that agree would hide each other
            for _, run in shards[(shards["subject"] == subject) & (shards["cache"] == state)].groupby("rep"):
                x, y = run["shard"] + 1 + beside, run["anon_bytes"] / figures.MB
                axes.plot(x, y, color=colours[state], linewidth=1.5)
                for cached, face in ((True, "white"), (False, colours[state])):
                    some = run["from_cache"] == cached
                    axes.scatter(
                        x[some],
                        y[some],
                        marker=MARKERS[state],
                        s=64,
                        facecolor=face,
                        edgecolor=colours[state],
                        linewidth=1.6,
                        zorder=3,
                    )
        mine = shards[shards["subject"] == subject]
        axes.set_title(f"{subject} ({figures.counts(mine.groupby('cache')['rep'].nunique())} a state)")
        axes.set_xlabel("shards done")
        axes.set_ylabel("anonymous memory after the shard (MB)")
        axes.set_xticks(sorted(shards["shard"].unique() + 1))
    grid[0][0].set_ylim(0, 1.05 * shards["anon_bytes"].max() / figures.MB)
    handles = [plt.Line2D([], [], color=colours[s], marker=MARKERS[s], label=s, markersize=8) for s in states]
    handles.append(
        plt.Line2D(
            [],
            [],
            color="0.4",
            marker="o",
            markerfacecolor="white",
            linestyle="",
            markersize=8,
            label="hollow: shard came from cache",
        )
    )
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))
    return figure, caption(shards)


def caption(shards):
    cached = shards[shards["from_cache"]]
    computed = shards[~shards["from_cache"]]
    steps = "; ".join(
        f"{subject}: {added(cached, subject)} MB from cache, {added(computed, subject)} MB computed"
        for subject in figures.subject_order(shards)
    )
    return f"""
Anonymous memory of the whole process tree after each shard: a cold run; one that was killed between two shards; the
same command again, which finds the finished shards in the cache; and one after a complete run. A line is a run.
Hollow marks are shards from cache: over all {len(cached)} of them {cached["tokenizer_calls"].sum():.0f} tokenizer
calls were made and {cached["cache_bytes_written"].sum():.0f} bytes written to the cache. Median step from one shard
to the next (smallest to largest, n): {steps}. Cached shards that add as much as computed ones would prove the claim
wrong.
"""


def added(shards, subject):
    """Median, range and number of the steps in anonymous memory between neighbouring shards of one kind, in MB."""
    steps = steps_of(shards[shards["subject"] == subject]) / figures.MB
    return (
        f"{steps.median():,.1f} ({steps.min():,.1f} to {steps.max():,.1f}, {len(steps)})" if len(steps) else "no step"
    )
