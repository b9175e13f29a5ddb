"""What loaders deliver against the memory they need, per dataset, order and number of workers."""

import matplotlib.pyplot as plt

from beyond_ram import figures
from beyond_ram.analysis.loaders import whole
from beyond_ram.metrics.loading import CEILING_OF


def draw(loaders):
    loaders = loaders[loaders["page_cache"] == "warm"] if loaders["page_cache"].nunique() > 1 else loaders
    # One line a point: where workers were started in several ways, the first of the config.
    loaders = loaders.drop_duplicates(["tokens", "loader", "order", "workers"])
    numbers = {name: place for place, name in enumerate(dict.fromkeys(loaders["loader"]), start=1)}
    # A row for each dataset and order, in it a panel for each number of workers.
    rows = list(loaders.groupby(["tokens", "order"], sort=False))
    columns = max(group["workers"].nunique() for _, group in rows)
    figure, grid = plt.subplots(
        len(rows),
        columns,
        figsize=(max(4.6 * columns, 8) + 3.4, max(4.0 * len(rows), 6)),
        squeeze=False,
        sharex=True,
        sharey="row",
        layout="constrained",
    )
    for axes in grid.flat:
        axes.set_visible(False)
    for axes, (tokens, order, count), points in panels(rows, grid):
        axes.set_visible(True)
        for point in points.to_dict("records"):
            draw_point(axes, point, numbers[point["loader"]])
        ceiling = points[f"limit_{CEILING_OF[order]}_rows_per_cpu_s"].median()
        axes.axhline(ceiling, color="#555555", linestyle="--", linewidth=1)
        axes.annotate(
            f"read ceiling: {ceiling:,.0f}",
            (0.98, ceiling),
            xycoords=("axes fraction", "data"),
            fontsize=8,
            ha="right",
            va="bottom",
            color="#333333",
        )
        where = f"{tokens}: " if loaders["tokens"].nunique() > 1 else ""
        axes.set_title(f"{where}{order}, {count} worker{'' if count == 1 else 's'}")
        axes.set(xscale="log", yscale="log")
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.xaxis.set_minor_formatter(lambda value, _: f"{value:,.0f}" if str(value)[0] in "235" else "")
        axes.tick_params(axis="x", which="both", labelsize=9, labelbottom=True)
        axes.set_xlabel("PSS of all processes (MB)")
    for axes in grid[:, 0]:
        axes.set_ylabel("rows per CPU-second")
    legend(figure, loaders, numbers)
    return figure, caption(loaders)


def panels(rows, grid):
    for (key, group), row in zip(rows, grid, strict=True):
        for axes, (count, points) in zip(row, group.groupby("workers"), strict=False):
            yield axes, (*key, count), points


def draw_point(axes, point, number):
    _, colour = figures.loader_kind(point["loader_kind"])
    sound = point["account"] == "every row once"
    x, y = point["end_pss_bytes"] / figures.MB, point["rows_per_cpu_s"]
    low, high = point["rows_per_cpu_s_low"], point["rows_per_cpu_s_high"]
    if low == low:
        axes.plot([x, x], [low, high], color=colour, linewidth=1, alpha=0.6)
    axes.plot(x, y, "o" if sound else "X", color=colour, markersize=15, markeredgecolor="white", alpha=0.9)
    axes.annotate(str(number), (x, y), ha="center", va="center", fontsize=8, color="white", fontweight="bold")


def legend(figure, loaders, numbers):
    kinds = loaders.drop_duplicates("loader").set_index("loader")["loader_kind"]
    handles = [
        plt.Line2D(
            [], [], linestyle="", marker="o", color=figures.loader_kind(kinds[name])[1], label=f"{number} {name}"
        )
        for name, number in numbers.items()
    ]
    seen = {figures.loader_kind(kind) for kind in kinds}
    handles += [plt.Line2D([], [], color=colour, linewidth=4, label=label) for label, colour in sorted(seen)]
    if (loaders["account"] != "every row once").any():
        handles.append(plt.Line2D([], [], linestyle="", marker="X", color="#555555", label="not every row once"))
    figure.legend(handles=handles, loc="outside right upper", fontsize=8, frameon=False)


def caption(loaders):
    wrong = loaders[loaders["account"] != "every row once"]
    faults = "; ".join(f"{line.loader} ({line.account})" for line in wrong.drop_duplicates("loader").itertuples())
    counts = sorted(loaders["n"].unique())
    runs = " or ".join(str(count) for count in counts)
    # Whole lines, so that the name of a loader stands beside its own share.
    best = loaders.dropna(subset="share_of_limit").sort_values("share_of_limit").groupby("order").tail(1)
    best_shares = "; ".join(
        f"{line.order}: {line.loader} with {line.workers:.0f} workers, {line.share_of_limit:.0%}"
        for line in best.sort_values("order").itertuples()
    )
    return f"""
Rows per CPU-second over all processes, in the last epoch, against the PSS of all processes at its end (shared pages
counted once). The dashed line is the read ceiling: the same rows from one .npy file without a loader, measured in the
same runs. Shuffled, it makes a system call for every row; a mapped file in memory needs none, and may lie above it.
Highest shares of the read ceiling: {best_shares or "not known"}. Bars: 95 % intervals; n = {runs}. {
        "Crosses did not deliver every row once: " + faults + "." if faults else "Every row was delivered once by all."
    }
"""


def plot(loaders):
    return figures.drawn(whole(loaders), draw, "no experiment of this config loads token datasets")
