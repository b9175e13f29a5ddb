"""Peak of anonymous memory, each page counted once, per batch size and writer batch size."""

from beyond_ram import figures


def plot(runs):
    runs = runs.query("workload == 'tokenize'")
    runs = runs[(runs["cache"] == "cold") & runs["completed_work"] & runs["peak_anon_once_bytes"].notna()]
    varied = runs.groupby("experiment")[["batch_size", "writer_batch_size"]].nunique().max(axis=1)
    runs = runs[runs["experiment"].isin(varied[varied > 1].index)]
    if runs.empty:
        return "no experiment of this config varies the batch sizes"
    columns = ["stack", "corpus", "batch_size", "writer_batch_size", "bytes_in"]
    runs = (
        runs[columns]
        .assign(peak_mb=runs["peak_anon_once_bytes"] / figures.MB)
        .astype({"batch_size": int, "writer_batch_size": int})
    )
    runs = runs.assign(subject=figures.subjects(runs))
    if len(runs) < 3:
        return figures.FEW
    subjects, sizes = figures.subject_order(runs), sorted(runs["batch_size"].unique())
    writers = sorted(runs["writer_batch_size"].unique())
    colours = figures.colours(writers)
    figure, panels = figures.panels(len(subjects), 3, 0.8, sharey=True)
    per_cell = runs.groupby(["subject", "batch_size", "writer_batch_size"])["peak_mb"]
    for axes, subject in zip(panels, subjects, strict=True):
        apart = 0.8 / len(writers)
        for (stack, size, writer), values in per_cell:
            if stack == subject:
                place = sizes.index(size) + apart * (writers.index(writer) - (len(writers) - 1) / 2)
                figures.dots(axes, place, values.tolist(), colours[writer], "{:,.0f}", 0.7 * apart)
        mine = runs[runs["subject"] == subject]
        n = figures.counts(mine.groupby(["batch_size", "writer_batch_size"]).size())
        axes.set_title(figures.fill(f"{subject}, {figures.input_size(mine.iloc[0])} of text, {n}", 3))
        axes.set_xticks(range(len(sizes)), sizes)
        axes.set_xlim(-0.5, len(sizes) - 0.5)
        axes.set_xlabel("batch size (rows)")
    panels[0].set_ylim(0, 1.15 * runs["peak_mb"].max())
    panels[0].set_ylabel("peak anonymous memory (MB)")
    handles = [figures.handle(str(w), color=colours[w], marker="o", markerfacecolor="none") for w in writers]
    figure.legend(handles=handles, title="writer batch size", loc="outside lower center", ncols=len(writers))
    n = figures.counts(per_cell.size())
    caption = f"""
Peak of anonymous memory over the whole run, each page counted once, by batch size of the tokenizer and by writer batch
size, with {figures.input_size(runs.iloc[0])} of text. Circles are runs ({n} per setting), lines their medians.
Table `comparisons` has the confirmed differences.
"""
    return figure, caption
