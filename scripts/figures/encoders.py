"""Peak of anonymous memory and speed of the ways to get the same ids."""

import matplotlib.pyplot as plt
import seaborn as sns

from beyond_ram import figures
from beyond_ram.metrics import METRICS

SHOWN = ("peak_grown_anon_bytes", "tokens_per_cpu_s")


def plot(runs):
    runs = runs.query("workload == 'soak' and completed_work == True")
    if not runs.empty:
        runs = runs[runs["between"] == "nothing"]
        several = runs.groupby("experiment")["subject"].nunique()
        runs = runs[runs["experiment"].isin(several[several > 1].index)]
    return figures.drawn(runs, draw, "no experiment of this config varies the subject")


def draw(runs):
    names = {"tokenizers": "encode", "tokenizers-fast": "encode_batch_fast", "transformers": "transformers"}
    runs = runs.assign(
        call=runs["subject"].map(lambda subject: names.get(subject, subject)),
        peak_grown_anon_bytes=runs["peak_grown_anon_bytes"] / figures.MB,
        tokens_per_cpu_s=runs["tokens_per_cpu_s"] / 1e6,
    )
    figure, grid = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
    units = dict(zip(SHOWN, ("MB", "million tokens per CPU-second"), strict=True))
    for axes, metric in zip(grid, SHOWN, strict=True):
        sns.barplot(
            runs, x="call", y=metric, hue="stack", estimator="median", errorbar=("pi", 100), capsize=0.15, ax=axes
        )
        for bars in axes.containers:
            axes.bar_label(
                bars,
                fmt="{:,.2f}" if metric == SHOWN[1] else "{:,.0f}",
                fontsize=10,
                label_type="center",
                color="white",
            )
        axes.set(xlabel="", ylabel=units[metric])
        axes.set_title(f"{METRICS[metric].label}\n({METRICS[metric].direction} is better)", fontsize=11)
    grid[1].get_legend().remove()
    counts = runs.groupby(["stack", "call"]).size()
    same = runs.groupby(["corpus", "num_files"])["token_count"].nunique().eq(1).all()
    caption = f"""
The same {runs["rows"].median():,.0f} documents ({
        runs["bytes_in"].median() / figures.MB:,.0f} MB, epochs added up), one at
a time, by three calls; the ids are not kept. Medians, whiskers from lowest to highest, n = {
        counts.min()
    } or more each. {"All gave the same number of ids." if same else "They did NOT give the same number of ids."}
"""
    return figure, caption
