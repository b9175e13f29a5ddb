"""What each remedy does to growth, peak and speed, with its interval."""

import matplotlib.pyplot as plt
import numpy as np
import seaborn as sns

from beyond_ram import figures, logs, tables
from beyond_ram.analysis.remedies import METRICS
from beyond_ram.metrics import METRICS as REGISTRY


def main(snakemake):
    figures.theme()
    remedies = tables.read(snakemake.input.remedies)
    if remedies.empty:
        figure, caption = figures.empty("no experiment of this config varies the remedy"), "Not run in this config."
    else:
        figure, caption = draw(remedies)
    figures.save(
        figure, caption, svg=snakemake.output.svg, png=snakemake.output.png, caption_file=snakemake.output.caption
    )


def draw(remedies):
    first = remedies[remedies["metric"] == next(iter(METRICS))]
    order = first.groupby("remedy")["ratio"].min().sort_values(na_position="last").index.tolist()
    subjects = figures.subject_order(remedies)
    colours = dict(zip(subjects, sns.color_palette("colorblind", len(subjects)), strict=True))
    figure, grid = plt.subplots(
        1, len(METRICS), figsize=(4.6 * len(METRICS), 0.45 * len(order) + 1.8), sharey=True, layout="constrained"
    )
    remedies = remedies.assign(subject=figures.subjects(remedies))
    for axes, (metric, direction) in zip(grid, METRICS.items(), strict=True):
        mine = remedies[remedies["metric"] == metric]
        axes.axvline(1, color="#555555", linewidth=1)
        for number, subject in enumerate(subjects):
            lines = mine[(mine["subject"] == subject) & mine["ratio"].notna()]
            y = lines["remedy"].map(order.index) + 0.22 * (number - (len(subjects) - 1) / 2)
            reach = np.nan_to_num([lines["ratio"] - lines["low"], lines["high"] - lines["ratio"]]).clip(min=0)
            axes.errorbar(
                lines["ratio"], y, xerr=reach, fmt="o", color=colours[subject], capsize=3, linewidth=1.5, label=subject
            )
        for row in mine[mine["effect"] == "not run"].drop_duplicates("remedy").itertuples():
            axes.annotate("not run", (0.02, order.index(row.remedy)), xycoords=("axes fraction", "data"), va="center")
        axes.set_xscale("log")
        axes.set_yticks(range(len(order)), order)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in "25" else "")
        axes.set_title(f"{REGISTRY[metric].label}\n({direction} is better)", fontsize=11)
        axes.set_xlabel("ratio to none")
        axes.tick_params(axis="x", labelsize=8, which="both")
    grid[0].invert_yaxis()
    grid[-1].legend(fontsize=8, loc="best")
    growth = first[first["effect"] == "helps"].sort_values("ratio")
    idle = sorted(first.loc[first["effect"].isin(["nothing", "not shown"]), "remedy"].unique())
    best = "; ".join(
        f"{row.remedy} ({row.stack}) {row.ratio:.2f} ({row.low:.2f} to {row.high:.2f})"
        for row in growth.head(4).itertuples()
    )
    caption = f"""
The same cell with a remedy over without one: ratio of geometric means with Welch's 95 % interval, n at least
{first["n"].min()} on each side. Growth of anonymous memory is lowered by: {best or "none of them"}. No effect on growth
was shown for: {", ".join(idle) or "none of them"}.
"""
    return figure, caption


with logs.to_file(snakemake.log[0]):  # noqa: F821
    main(snakemake)  # noqa: F821
