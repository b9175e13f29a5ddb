"""The error of each tool by program: a heat-map."""

import argparse

import pandas as pd
import seaborn as sns

from beyond_ram import figures, tables


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("table", "svg", "png", "caption"):
        parser.add_argument(f"--{name}", required=True)
    arguments = parser.parse_args()
    figures.theme()
    figure, caption = draw(tables.read(arguments.table))
    figures.save(figure, caption, svg=arguments.svg, png=arguments.png, caption_file=arguments.caption)


def draw(table: pd.DataFrame):  # type: ignore[no-untyped-def]
    errors = table.assign(error_mb=table["error_bytes"] / figures.MB)
    grid = errors.pivot(index="label", columns="tool", values="error_mb")
    grid = grid.loc[table["label"].unique(), table["tool"].unique()]
    labels = grid.map(lambda mb: "not run" if pd.isna(mb) else "0" if abs(mb) < 0.5 else f"{mb:+,.0f}")
    figure, axes = figures.plt.subplots(figsize=(10, 0.55 * len(grid) + 1.5))
    # Errors span 0 to 900 MB: a square root, capped, keeps the small ones distinguishable.
    colours = grid.abs().fillna(0).map(lambda mb: min(mb, 200) ** 0.5)
    sns.heatmap(colours, annot=labels, fmt="", cmap="Reds", cbar=False, linewidths=1, vmax=14, ax=axes)
    axes.set(xlabel="", ylabel="")
    costs = table.drop_duplicates("tool").set_index("tool")["cpu_ratio"]
    axes.set_xticklabels(
        [f"{tool}\nCPU x {costs[tool]:.2f}" if pd.notna(costs[tool]) else tool for tool in grid.columns],
        rotation=30,
        ha="right",
        rotation_mode="anchor",
    )
    axes.tick_params(axis="y", rotation=0)
    ours = errors[errors["tool"] == "beyond-ram"]
    worst = ours["error_mb"].abs().max()
    nearer = [f"{row.tool} ({row.label})" for row in table[table["nearer"]].itertuples()]
    caption = f"""
Reading less truth, in MB, for {len(grid)} programs whose memory is known by construction. Each cell is one pair of
runs, large less small, so that interpreters cancel out; of several numbers of a tool the nearest to the truth counts.
The largest error of beyond-ram is {worst:.2f} MB. Nearer to the truth than beyond-ram by more than 0.5 % or 1 MB:
{"; ".join(nearer) or "none"}. Below each name stands the CPU time of a second or two of computing under the tool, start
of the tool included, over that of the computing alone (n = {int(table["n"].min())}, interleaved, medians).
"""
    return figure, caption


if __name__ == "__main__":
    main()
