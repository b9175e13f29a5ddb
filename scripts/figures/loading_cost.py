"""Rate and memory of each loader."""

from beyond_ram import figures
from beyond_ram.analysis.frame import describe
from beyond_ram.analysis.loaders import EVERY_ROW_ONCE, whole

LINE_INCHES = 0.3
GREY = {"linestyle": "", "color": "#555555"}


def plot(loaders):
    loaders = whole(loaders)
    if loaders.empty:
        return "no experiment of this config loads token datasets"
    # One line per way: a cold page cache before a warm one, and the first start method in the config.
    loaders = loaders.sort_values("page_cache", kind="stable").drop_duplicates(["tokens", "loader", "order", "workers"])
    loaders = loaders.assign(name=[name_of(line) for line in loaders.to_dict("records")])
    rows = list(loaders.groupby(["tokens", "order"], sort=False))
    heights = [LINE_INCHES * len(group) + 0.5 for _, group in rows]
    figure, grid = figures.rows(
        len(rows), sum(heights) + 0.9 * len(rows) + 1.2, 2, sharex="col", gridspec_kw={"height_ratios": heights}
    )
    for (rate, memory), ((tokens, order), group) in zip(grid, rows, strict=True):
        draw(rate, memory, group.sort_values(["rows_per_cpu_s", "rows_per_cpu_s_warm"], ascending=False))
        caches = " or ".join(group["page_cache"].unique())
        rate.set_title(f"{tokens}: {order}, {caches}, {figures.counts(group['n'])}", loc="left")
    grid[-1][0].set_xlabel("rows per CPU-second")
    grid[-1][1].set_xlabel("memory of all processes (MB)")
    grid[0][1].set_xlim(left=0)
    legend(figure, loaders)
    return figure, caption(loaders)


def name_of(line):
    faulty = "" if line["account"] == EVERY_ROW_ONCE else "\n(not every row once)"
    return ", ".join([line["loader"], *describe(line, ["workers"])]) + faulty


def draw(rate, memory, group):
    """Draw each way of loading on a line. Left: the rate of the first epoch (full), and of later epochs (hollow).
    Right: kept memory as a bar, and PSS as a line from the end of the bar."""
    for place, line in enumerate(group.to_dict("records")):
        style = {"color": figures.loader_kind(line["loader_kind"])[1], "alpha": figures.opacity(line["n"])}
        for name, up, fill in (("rows_per_cpu_s", -0.15, "full"), ("rows_per_cpu_s_warm", 0.15, "none")):
            rate.plot([line[f"{name}_low"], line[f"{name}_high"]], [place + up] * 2, linewidth=1, **style)
            rate.plot(line[name], place + up, "o", fillstyle=fill, markersize=6, **style)
        kept, pss = line["held_bytes"] / figures.MB, line["end_pss_bytes"] / figures.MB
        memory.barh(place, kept, height=0.6, linewidth=0, **style)
        memory.plot([kept, pss], [place, place], "|-", linewidth=1, markersize=10, **style)
    rate.set_yticks(range(len(group)), group["name"])
    memory.set_yticks(range(len(group)), [""] * len(group))
    for axes in (rate, memory):
        axes.set_ylim(len(group) - 0.45, -0.55)
        axes.tick_params(axis="x", labelbottom=True)
    memory.grid(visible=False, axis="y")
    rate.set_xscale("log")
    if group[["rows_per_cpu_s", "rows_per_cpu_s_warm"]].isna().all(axis=None):
        rate.text(0.5, 0.5, "epochs too short for a rate", transform=rate.transAxes, ha="center", va="center")


def legend(figure, loaders):
    kinds = sorted({figures.loader_kind(kind) for kind in loaders["loader_kind"]})
    handles = [figures.handle(label, color=colour, linewidth=4) for label, colour in kinds]
    handles += [
        figures.handle("left, full: first epoch", marker="o", **GREY),
        figures.handle("left, hollow: later epochs", marker="o", fillstyle="none", **GREY),
        figures.handle("right, bar: kept memory", marker="s", markersize=9, **GREY),
        figures.handle("right, line: PSS, with page cache", marker="|", **GREY | {"linestyle": "-"}),
    ]
    if (loaders["n"] < 2).any():
        handles.append(figures.handle("faint: n = 1", marker="o", alpha=figures.opacity(1), **GREY))
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False)


def caption(loaders):
    wrong = loaders[loaders["account"] != EVERY_ROW_ONCE]
    faults = "; ".join(f"{line.loader} ({line.account})" for line in wrong.drop_duplicates("loader").itertuples())
    states = " or ".join(loaders["page_cache"].unique())
    short = loaders["rows_per_cpu_s"].isna().sum()
    missing = f"{short} of {len(loaders)} have no rate of the first epoch: it was too short. " if short else ""
    rows = f"Not every row came once: {faults}." if faults else "All delivered every row once."
    return f"""
Left: rows per CPU-second over all processes, of the first epoch from a {states} page cache without the start of workers
(full), and of later epochs (hollow). {missing}Right: kept memory, which the kernel cannot reclaim (bar), and PSS, which
includes the page cache (line). Thin lines on the left are 95 % intervals of a cell's own repeats;
{figures.counts(loaders["n"])}. {rows}
"""
