"""Peak of anonymous memory, each page counted once, per batch size, writer batch size and number of processes."""

from beyond_ram import figures
from beyond_ram.analysis.frame import describe

VARIED = ["batch_size", "writer_batch_size", "num_proc"]


def plot(runs):
    runs = runs.query("workload == 'tokenize'")
    runs = runs[(runs["cache"] == "cold") & runs["completed_work"] & runs["peak_anon_once_bytes"].notna()]
    varied = runs.groupby("experiment")[VARIED].nunique().max(axis=1)
    runs = runs[runs["experiment"].isin(varied[varied > 1].index)]
    if runs.empty:
        return "no experiment of this config varies the batch sizes or the processes"
    runs = runs[["stack", "corpus", *VARIED, "bytes_in"]].assign(peak_mb=runs["peak_anon_once_bytes"] / figures.MB)
    runs = runs.astype(dict.fromkeys(VARIED, int))
    runs = runs.assign(subject=figures.subjects(runs))
    if len(runs) < 3:
        return figures.FEW
    subjects, settings = figures.subject_order(runs), sorted({*zip(runs["num_proc"], runs["batch_size"], strict=True)})
    writers = sorted(runs["writer_batch_size"].unique())
    colours = figures.colours(writers)
    figure, panels = figures.panels(len(subjects), 3, 0.8, sharey=True)
    per_cell = runs.groupby(["subject", "num_proc", "batch_size", "writer_batch_size"])["peak_mb"]
    for axes, subject in zip(panels, subjects, strict=True):
        apart = 0.8 / len(writers)
        for (stack, *setting, writer), values in per_cell:
            if stack == subject:
                place = settings.index(tuple(setting)) + apart * (writers.index(writer) - (len(writers) - 1) / 2)
                figures.dots(axes, place, values.tolist(), colours[writer], "{:,.0f}", 0.7 * apart)
        mine = runs[runs["subject"] == subject]
        n = figures.counts(mine.groupby(VARIED).size())
        axes.set_title(figures.fill(f"{subject}, {figures.input_size(mine.iloc[0])} of text, {n}", 3))
        axes.set_xticks(range(len(settings)), [tick(*setting) for setting in settings])
        axes.set_xlim(-0.5, len(settings) - 0.5)
        axes.set_xlabel("batch size (rows)")
    panels[0].set_ylim(0, 1.15 * runs["peak_mb"].max())
    panels[0].set_ylabel("peak anonymous memory (MB)")
    handles = [figures.handle(str(w), color=colours[w], marker="o", markerfacecolor="none") for w in writers]
    figure.legend(handles=handles, title="writer batch size", loc="outside lower center", ncols=len(writers))
    n = figures.counts(per_cell.size())
    caption = f"""
Peak of anonymous memory over the whole run, each page counted once, by batch size of the tokenizer, by writer batch
size, and by `num_proc` where it is set, with {figures.input_size(runs.iloc[0])} of text. Circles are runs ({n} per
setting), lines their medians. Table `comparisons` has the confirmed differences.
"""
    return figure, caption


def tick(num_proc, batch_size):
    """The label of a batch size, with the number of processes if it is set."""
    return "\n".join([str(batch_size), *(describe({"num_proc": num_proc}, ["num_proc"]) if num_proc else [])])
