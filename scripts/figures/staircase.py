"""Anonymous memory after each shard: cold, interrupted, rerun and warm; shards from cache marked."""

from beyond_ram import figures

STATES = ["cold", "interrupted", "rerun", "warm"]
MARKERS = {"cold": "o", "interrupted": "X", "rerun": "s", "warm": "D"}


def plot(shards):
    shards = shards[shards["mode"] == "shard"]
    shards = shards[shards["experiment"].isin(shards.loc[shards["cache"] == "rerun", "experiment"].unique())]
    if shards.empty:
        return "no cell of this config is interrupted and rerun"
    shards = shards[shards["num_files"] == shards["num_files"].max()].assign(subject=figures.subjects)
    subjects = figures.subject_order(shards)
    states = [state for state in STATES if state in set(shards["cache"])]
    colours = figures.colours(STATES)
    figure, panels = figures.panels(len(subjects), 3.2, 1, sharey=True)
    for axes, subject in zip(panels, subjects, strict=True):
        for place, state in enumerate(states):
            beside = 0.08 * (place - (len(states) - 1) / 2)  # offset, because equal states would hide each other
            for _, run in shards[(shards["subject"] == subject) & (shards["cache"] == state)].groupby("rep"):
                x, y = run["shard"] + 1 + beside, run["anon_bytes"] / figures.MB
                axes.plot(x, y, color=colours[state], linewidth=1.5)
                for cached, face in ((True, "white"), (False, colours[state])):
                    chosen = run["from_cache"] == cached
                    style = {"marker": MARKERS[state], "facecolor": face, "edgecolor": colours[state]}
                    axes.scatter(x[chosen], y[chosen], s=64, linewidth=1.6, zorder=3, **style)
        mine = shards[shards["subject"] == subject]
        axes.set_title(f"{subject} ({figures.counts(mine.groupby('cache')['rep'].nunique())} a state)")
        axes.set_xlabel("shards done")
        axes.set_xticks(sorted(shards["shard"].unique() + 1))
    figure.supylabel("anonymous memory after the shard (MB)")
    panels[0].set_ylim(0, 1.05 * shards["anon_bytes"].max() / figures.MB)
    handles = [figures.handle(s, color=colours[s], marker=MARKERS[s], markersize=8) for s in states]
    hollow = {"color": "0.4", "marker": "o", "markerfacecolor": "white", "linestyle": "", "markersize": 8}
    handles.append(figures.handle("hollow: shard came from cache", **hollow))
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    return figure, caption(shards)


def caption(shards):
    cached = shards[shards["from_cache"]]
    return f"""
Anonymous memory of the whole process tree after each shard: a cold run; one that was killed between two shards; the
same command again, which finds the finished shards in the cache; and one after a complete run. A line is a run.
Hollow marks are shards from cache: over all {len(cached)} of them {cached["tokenizer_calls"].sum():.0f} tokenizer
calls were made and {cached["cache_bytes_written"].sum():.0f} bytes written to the cache. Hollow marks that rise would
mean that shards from the cache keep memory.
"""
