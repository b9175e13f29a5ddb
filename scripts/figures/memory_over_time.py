"""Memory over time, stacked by kind, phases marked: the largest cold run of every stack and mode."""

import pandas as pd

from beyond_ram import figures
from beyond_ram.analysis.frame import cells as repeats_of

PANEL = ["mode", "subject"]
PEAK = "anon_bytes"
SUMMED = ", summed over processes"
READ = ("cell", "work", "peak", "sampler", "duration_s")


def chosen(records):
    """Per mode and stack, the cold run with most input; of its repeats the one with the median peak; ties go to small
    batches.

    Only from experiments that vary the size of the input, if there are any: others are small on purpose.
    """
    cells = pd.DataFrame(
        [
            {**record["cell"], "place": place, "bytes_in": record["work"].get("bytes_in"), PEAK: record["peak"][PEAK]}
            for place, record in enumerate(records)
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
        if until - start > longest_s / 20:  # shorter phases have no room for their name
            axes.text(start, top_mb * 0.98, f" {phase}", rotation=90, va="top", ha="left", color="0.2")
    axes.set_ylim(0, top_mb)
    axes.set_xlim(0, longest_s)


def peaks_of(records, place):
    """The peaks of a run and its repeats, in MB."""
    settings = {axis: value for axis, value in records[place]["cell"].items() if axis != "rep"}
    return [
        r["peak"][PEAK] / figures.MB for r in records if all(r["cell"][axis] == settings[axis] for axis in settings)
    ]


def peak_in_words(record, peaks):
    """The peak of a run, and the range over its repeats."""
    ends = f"{min(peaks):,.0f} to {max(peaks):,.0f}, " if len(peaks) > 1 else ""
    return f"{record['peak'][PEAK] / figures.MB:,.0f} MB ({ends}n = {len(peaks)})"


def plot(records, samples):
    records = [{key: record[key] for key in READ} for record, _ in records]
    if not records:
        return "no experiment of this config tokenises"
    subjects = figures.subject_order(pd.DataFrame([record["cell"] for record in records]))
    # The subjects of a mode side by side, two in a row.
    cells = chosen(records).sort_values(
        ["mode", "subject"], key=lambda names: names.map(subjects.index) if names.name == "subject" else names
    )
    drawn = [records[place] for place in cells["place"]]
    peaks = [peaks_of(records, place) for place in cells["place"]]
    figure, panels = figures.panels(len(cells), 2.6, 0.8, sharey=True)
    top_mb = max(record["peak"]["rss_bytes"] for record in drawn) / figures.MB * 1.25
    several = any((record["peak"].get("processes") or 0) > 1 for record in drawn)
    samples = {place: samples.of(place) for place in cells["place"]}
    kinds = [kind for kind in figures.KINDS if any(one[kind].max() > figures.MB for one in samples.values())]
    for axes, cell, repeats in zip(panels, cells.to_dict("records"), peaks, strict=True):
        longest_s = max(samples[place]["t_s"].max() for place in cells.loc[cells["mode"] == cell["mode"], "place"])
        draw(axes, samples[cell["place"]], kinds, top_mb, longest_s)
        text = f"{figures.input_size(cell)} of text (1 of {len(repeats)} runs)"
        axes.set_title(f"{cell['subject']}, {cell['mode']}\n{text}")
        axes.set_xlabel("time (s)")
    figure.supylabel(f"resident memory{SUMMED if several else ''} (MB)")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, title="kind of memory")
    peaks = "; ".join(
        f"{cell.subject} {cell.mode}: {peak_in_words(records[cell.place], repeats)}"
        for cell, repeats in zip(cells.itertuples(), peaks, strict=True)
    )
    apart = [1000 * record["duration_s"] / record["sampler"]["samples"] for record in drawn]
    interval = " to ".join(dict.fromkeys([f"{min(apart):.0f}", f"{max(apart):.0f}"]))
    kind_names = ", ".join(figures.KINDS[kind][0] for kind in kinds)
    caption = f"""
Resident memory of the whole process tree over time{SUMMED if several else ""}, split by the kernel into
{kind_names} memory. One run
per stack and mode (its largest input; the repeat with the median peak, the lower one of two), sampled from outside
every {interval} ms on average. Dotted lines mark phases; long ones have a name.
Peak of anonymous memory of the drawn run, with minimum and maximum of all repeats: {peaks}.
"""
    return figure, caption
