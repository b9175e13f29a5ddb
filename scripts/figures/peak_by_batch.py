"""Peak of anonymous memory per batch size and writer batch size."""

import seaborn as sns

from beyond_ram import figures


def plot(runs):
    runs = runs.query("workload == 'tokenize'")
    runs = runs[(runs["cache"] == "cold") & runs["completed_work"]]
    varied = runs.groupby("experiment")[["batch_size", "writer_batch_size"]].nunique().max(axis=1)
    runs = runs[runs["experiment"].isin(varied[varied > 1].index)]
    return figures.drawn(runs, draw, "no experiment of this config varies the batch sizes")


def draw(runs):
    runs = (
        runs.astype({"batch_size": int, "writer_batch_size": int})
        .assign(peak_mb=runs["peak_anon_bytes"] / figures.MB, subject=figures.subjects)
        .rename(columns={"writer_batch_size": "writer batch size"})
    )
    grid = sns.catplot(
        runs,
        kind="bar",
        x="batch_size",
        y="peak_mb",
        hue="writer batch size",
        col="subject",
        col_order=figures.subject_order(runs),
        estimator="median",
        errorbar=("pi", 100),
        capsize=0.15,
        palette="colorblind",
        height=4,
        aspect=1.1,
    )
    for axes in grid.axes.flat:
        for bars in axes.containers:
            if hasattr(bars, "patches"):
                axes.bar_label(bars, fmt="{:,.0f}", fontsize=9, label_type="center", color="white")
    grid.set_axis_labels("batch size (rows)", "peak anonymous memory (MB)").set_titles(
        "{col_name}, " + figures.input_size(runs.iloc[0]) + " of text"
    )
    per_cell = runs.groupby(["subject", "batch_size", "writer batch size"])["peak_mb"]
    lows = "; ".join(
        f"{subject}: {cells.min():,.0f} MB to {cells.max():,.0f} MB"
        for subject, cells in per_cell.median().groupby(level="subject")
    )
    counts = sorted(per_cell.size().unique())
    caption = f"""
Peak of anonymous memory over the whole run, per batch size handed to the tokenizer and per writer batch size, on
{figures.input_size(runs.iloc[0])} of text. Bars are medians, whiskers the whole range,
n = {" to ".join(map(str, counts))} a bar. From the thriftiest to the greediest setting, {lows}.
Ranges of two bars that overlap show no difference.
"""
    return grid.figure, caption
