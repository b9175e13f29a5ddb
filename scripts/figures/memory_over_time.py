"""Memory over time, stacked by kind, phases marked: the largest cold run of every stack and mode."""

import matplotlib.pyplot as plt
import pandas as pd

from beyond_ram import figures, tables

PANEL = ["mode", "subject"]


def chosen(records):
    """Per mode and stack the cold run with most input, the first repeat; ties go to the smallest batches.

    Of experiments that vary the size of the input, where there are any: others are small on purpose.
    """
    cells = pd.DataFrame(
        [{**record["cell"], "path": path, "bytes_in": record["work"].get("bytes_in")} for path, record in records]
    )
    sizes = cells.groupby("experiment")["num_files"].nunique()
    cells = cells[cells["experiment"].isin(sizes[sizes > 1].index) | (sizes.max() == 1)]
    cells = cells[(cells["cache"] == "cold") & cells["bytes_in"].notna()].assign(subject=figures.subjects)
    order = ["bytes_in", "batch_size", "writer_batch_size", "num_proc", "rep"]
    cells = cells.sort_values(order, ascending=[False, True, True, True, True])
    return cells.drop_duplicates(PANEL)


def draw(axes, samples, kinds, top_mb, longest_s):
    axes.stackplot(
        samples["t_s"],
        [samples[kind] / figures.MB for kind in kinds],
        labels=[figures.KINDS[kind][0] for kind in kinds],
        colors=[figures.KINDS[kind][1] for kind in kinds],
        linewidth=0,
    )
    end = samples["t_s"].max()
    starts = samples.dropna(subset="phase").drop_duplicates("phase")[["t_s", "phase"]]
    for (start, phase), until in zip(starts.to_numpy(), [*starts["t_s"][1:], end], strict=False):
        axes.axvline(start, color="0.25", linewidth=0.7, linestyle=":")
        if until - start > longest_s / 20:  # shorter ones have no room for their name
            axes.text(start, top_mb * 0.98, f" {phase}", rotation=90, va="top", ha="left", fontsize=8, color="0.2")
    axes.set_ylim(0, top_mb)
    axes.set_xlim(0, longest_s)


def _same(cell, other):
    """Whether a run is a repeat of a cell."""
    return all(cell[axis] == value for axis, value in other.items() if axis != "rep")


def plot(paths):
    runs = [(path, tables.read_run(path)[0]) for path in paths]
    return figures.drawn(runs, draw_all, "no experiment of this config tokenises")


def draw_all(runs):
    records = dict(runs)
    cells = chosen(runs)
    subjects = figures.subject_order(pd.DataFrame([record["cell"] for record in records.values()]))
    modes = sorted(cells["mode"].unique())
    figure, grid = plt.subplots(
        len(modes), len(subjects), figsize=(4.6 * len(subjects), 3.4 * len(modes)), squeeze=False, layout="constrained"
    )
    top_mb = max(records[path]["peak"]["rss_bytes"] for path in cells["path"]) / figures.MB * 1.25
    samples = {path: tables.read_samples(path) for path in cells["path"]}
    kinds = [kind for kind in figures.KINDS if any(one[kind].max() > figures.MB for one in samples.values())]
    repeats = cells.apply(lambda cell: sum(_same(cell, record["cell"]) for record in records.values()), axis=1)
    repeats.index = cells["path"]
    for row, mode in enumerate(modes):
        longest_s = max(samples[path]["t_s"].max() for path in cells.loc[cells["mode"] == mode, "path"])
        for column, subject in enumerate(subjects):
            axes = grid[row][column]
            cell = cells[(cells["mode"] == mode) & (cells["subject"] == subject)]
            if cell.empty:
                axes.set_visible(False)
                continue
            path = cell.iloc[0]["path"]
            draw(axes, samples[path], kinds, top_mb, longest_s)
            size = figures.input_size(cell.iloc[0])
            axes.set_title(f"{subject}, {mode}, {size} of text (1 of {repeats[path]} runs)", fontsize=11)
            axes.set_xlabel("time (s)")
            axes.set_ylabel("resident memory (MB)")
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, title="kind of memory")
    order = {subject: place for place, subject in enumerate(subjects)}
    peaks = "; ".join(
        f"{cell.subject} {cell.mode}: {records[cell.path]['peak']['anon_bytes'] / figures.MB:,.0f} MB"
        for cell in sorted(cells.itertuples(), key=lambda cell: (cell.mode, order[cell.subject]))
    )
    interval_ms = max(record["sampler"]["interval_ms"] for _, record in runs)
    said_kinds = ", ".join(figures.KINDS[kind][0] for kind in kinds)
    caption = f"""
Resident memory of the whole process tree over time, split by the kernel into {said_kinds} memory. One run
each (n = 1: the largest input of its stack and mode, first repeat), sampled from outside every {interval_ms} ms; dotted
lines mark phases, the longer ones named.
Peak of anonymous memory: {peaks}. What the figure says would be wrong if repeats of the same cell
differed more than the stacks do; the table `runs` holds all of them.
"""
    return figure, caption
