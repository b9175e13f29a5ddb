"""Memory over time, stacked by kind, phases marked: the largest cold run of every stack and mode."""

import pandas as pd

from beyond_ram import figures
from beyond_ram.analysis.frame import cells as repeats_of

PANEL = ["mode", "subject"]
PEAK = "anon_bytes"
SUMMED = ", summed over processes"
READ = ("cell", "work", "peak", "sampler", "duration_s")


def chosen(records):
    """Per mode and stack the cold run with most input, of its repeats the middle one by peak; ties go to small batches.

    Of experiments that vary the size of the input, where there are any: others are small on purpose.
    """
    cells = pd.DataFrame(
        [
            {**record["cell"], "place": place, "bytes_in": record["work"].get("bytes_in"), PEAK: record["peak"][PEAK]}
            for place, record in records
        ]
    )
    sizes = cells.groupby("experiment")["num_files"].nunique()
    cells = cells[cells["experiment"].isin(sizes[sizes > 1].index) | (sizes.max() == 1)]
    cells = cells[(cells["cache"] == "cold") & cells["bytes_in"].notna()].assign(subject=figures.subjects)
    middles = [group.sort_values(PEAK).iloc[[(len(group) - 1) // 2]] for _, group in repeats_of(cells)]
    cells = pd.concat(middles) if middles else cells
    order = ["bytes_in", "batch_size", "writer_batch_size", "num_proc"]
    return cells.sort_values(order, ascending=[False, True, True, True]).drop_duplicates(PANEL)


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
            axes.text(start, top_mb * 0.98, f" {phase}", rotation=90, va="top", ha="left", color="0.2")
    axes.set_ylim(0, top_mb)
    axes.set_xlim(0, longest_s)


def of(cells, mode, subject):
    """The cell of a mode and a subject, if there is one."""
    return cells[(cells["mode"] == mode) & (cells["subject"] == subject)]


def _same(cell, other):
    """Whether a run is a repeat of a cell."""
    return all(cell[axis] == value for axis, value in other.items() if axis != "rep")


def peaks_of(records, place):
    """The peak of a run, and of its repeats from the smallest to the largest, in MB."""
    peaks = [r["peak"][PEAK] / figures.MB for r in records.values() if _same(r["cell"], records[place]["cell"])]
    ends = f"{min(peaks):,.0f} to {max(peaks):,.0f}, " if len(peaks) > 1 else ""
    return f"{records[place]['peak'][PEAK] / figures.MB:,.0f} MB ({ends}n = {len(peaks)})"


def plot(records, samples):
    runs = [(place, {key: record[key] for key in READ}) for place, (record, _) in enumerate(records)]
    reason = "no experiment of this config tokenises"
    return figures.drawn(runs, lambda runs: draw_all(runs, samples.of), reason)


def draw_all(runs, samples_of):
    records = dict(runs)
    cells = chosen(runs)
    subjects = figures.subject_order(pd.DataFrame([record["cell"] for record in records.values()]))
    modes = sorted(cells["mode"].unique())
    # The subjects of a mode side by side, two in a row.
    shown = [(mode, subject) for mode in modes for subject in subjects if not of(cells, mode, subject).empty]
    figure, panels = figures.panels(len(shown), 2.6, 0.8, sharey=True)
    top_mb = max(records[place]["peak"]["rss_bytes"] for place in cells["place"]) / figures.MB * 1.25
    several = any((records[place]["peak"].get("processes") or 0) > 1 for place in cells["place"])
    samples = {place: samples_of(place) for place in cells["place"]}
    kinds = [kind for kind in figures.KINDS if any(one[kind].max() > figures.MB for one in samples.values())]
    repeats = cells.apply(lambda cell: sum(_same(cell, record["cell"]) for record in records.values()), axis=1)
    repeats.index = cells["place"]
    for axes, (mode, subject) in zip(panels, shown, strict=True):
        longest_s = max(samples[place]["t_s"].max() for place in cells.loc[cells["mode"] == mode, "place"])
        cell = of(cells, mode, subject).iloc[0]
        draw(axes, samples[cell["place"]], kinds, top_mb, longest_s)
        text = f"{figures.input_size(cell)} of text (1 of {repeats[cell['place']]} runs)"
        axes.set_title(f"{subject}, {mode}\n{text}")
        axes.set_xlabel("time (s)")
    figure.supylabel(f"resident memory{SUMMED if several else ''} (MB)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, title="kind of memory")
    order = {subject: place for place, subject in enumerate(subjects)}
    peaks = "; ".join(
        f"{cell.subject} {cell.mode}: {peaks_of(records, cell.place)}"
        for cell in sorted(cells.itertuples(), key=lambda cell: (cell.mode, order[cell.subject]))
    )
    drawn = [records[place] for place in cells["place"]]
    apart = [1000 * record["duration_s"] / record["sampler"]["samples"] for record in drawn]
    interval = " to ".join(dict.fromkeys([f"{min(apart):.0f}", f"{max(apart):.0f}"]))
    said_kinds = ", ".join(figures.KINDS[kind][0] for kind in kinds)
    caption = f"""
Resident memory of the whole process tree over time{SUMMED if several else ""}, split by the kernel into
{said_kinds} memory. One run
each (the largest input of its stack and mode; of its repeats the middle one by peak, of two the lower), sampled from
outside every {interval} ms in the mean; dotted lines mark phases, the longer ones named.
Peak of anonymous memory of the run that is drawn, with the smallest and largest of all repeats: {peaks}. What the
figure says would be wrong if repeats of the same cell differed more than the stacks do.
"""
    return figure, caption
