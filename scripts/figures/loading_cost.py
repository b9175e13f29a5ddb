"""What loaders deliver, and the memory they need for it, a line a loader."""

from beyond_ram import figures
from beyond_ram.analysis.loaders import whole

MARKERS = "osD^vP"
LINE_INCHES, LEAST_INCHES = 0.2, 1.6


def plot(loaders):
    loaders = whole(loaders)
    if loaders.empty:
        return "no experiment of this config loads token datasets"
    # One line a point: a cold page cache before a warm one, and of ways to start workers the first of the config.
    loaders = loaders.sort_values("page_cache", kind="stable").drop_duplicates(["tokens", "loader", "order", "workers"])
    counts = sorted(loaders["workers"].unique())
    rows = list(loaders.groupby(["tokens", "order"], sort=False))
    heights = [
        max(group["loader"].nunique() * group["workers"].nunique() * LINE_INCHES, LEAST_INCHES) for _, group in rows
    ]
    height = sum(heights) + 0.9 * len(rows) + 1.2
    figure, grid = figures.rows(len(rows), height, 2, sharex="col", gridspec_kw={"height_ratios": heights})
    for (rate, memory), ((tokens, order), group) in zip(grid, rows, strict=True):
        draw_row(rate, memory, group, counts)
        caches = " or ".join(group["page_cache"].unique())
        rate.set_title(f"{tokens}: {order}, {caches}, {figures.counts(group['n'])}", loc="left")
        for axes in (rate, memory):
            axes.tick_params(axis="x", labelbottom=True)
    grid[-1][0].set_xlabel("rows per CPU-second")
    grid[-1][1].set_xlabel("memory of all processes (MB)")
    grid[0][1].set_xlim(left=0)
    legend(figure, loaders, counts)
    return figure, caption(loaders)


def draw_row(rate, memory, group, counts):
    best = group.groupby("loader")[["rows_per_cpu_s", "rows_per_cpu_s_warm"]].max()
    best = best["rows_per_cpu_s"].fillna(best["rows_per_cpu_s_warm"]).sort_values(ascending=False, na_position="last")
    names = list(best.index)
    present = sorted(group["workers"].unique())
    step = 0.8 / len(present)
    for line in group.to_dict("records"):
        place = counts.index(line["workers"])
        y = names.index(line["loader"]) + (present.index(line["workers"]) - (len(present) - 1) / 2) * step
        style = {"color": figures.loader_kind(line["loader_kind"])[1], "alpha": figures.opacity(line["n"])}
        for name, up, fill in (("rows_per_cpu_s", -step / 5, "full"), ("rows_per_cpu_s_warm", step / 5, "none")):
            if line[f"{name}_low"] == line[f"{name}_low"]:
                rate.plot([line[f"{name}_low"], line[f"{name}_high"]], [y + up] * 2, linewidth=1, **style)
            rate.plot(line[name], y + up, MARKERS[place % 6], fillstyle=fill, markersize=6, **style)
        rate.plot(line["ceiling_rows_per_cpu_s"], y, "|", color="#555555", markersize=12 * step + 3)
        sizes = [line["held_bytes"] / figures.MB, line["end_pss_bytes"] / figures.MB]
        memory.plot(sizes[1], y + step / 5, MARKERS[place % 6], fillstyle="none", markersize=6, **style)
        memory.plot(sizes[0], y - step / 5, MARKERS[place % 6], markersize=6, **style)
    faulty = set(group.loc[group["account"] != "every row once", "loader"])
    labels = [f"{name}\n(not every row once)" if name in faulty else name for name in names]
    rate.set_yticks(range(len(names)), labels)
    memory.set_yticks(range(len(names)), [""] * len(names))
    for axes in (rate, memory):
        axes.set_ylim(len(names) - 0.45, -0.55)
    rate.set_xscale("log")


def legend(figure, loaders, counts):
    grey = {"linestyle": "", "color": "#555555"}
    seen = list(dict.fromkeys(figures.loader_kind(kind) for kind in loaders["loader_kind"]))
    handles = [figures.handle(label, color=colour, linewidth=4) for label, colour in sorted(seen)]
    handles += [
        figures.handle(f"{count:.0f} workers", marker=MARKERS[place % 6], **grey) for place, count in enumerate(counts)
    ]
    handles += [
        figures.handle("first epoch; memory that cannot be taken back", marker="o", **grey),
        figures.handle("warm epochs; PSS, page cache in it", marker="o", fillstyle="none", **grey),
        figures.handle("read ceiling: the fastest way tried without a loader", marker="|", markersize=11, **grey),
    ]
    if (loaders["n"] < 2).any():
        handles.append(figures.handle("n = 1", marker="o", alpha=figures.opacity(1), **grey))
    figure.legend(handles=handles, loc="outside upper center", ncols=1, frameon=False)


def caption(loaders):
    wrong = loaders[loaders["account"] != "every row once"]
    faults = "; ".join(f"{line.loader} ({line.account})" for line in wrong.drop_duplicates("loader").itertuples())
    states = " or ".join(loaders["page_cache"].unique())
    short = loaders["rows_per_cpu_s"].isna().sum()
    # Whole lines, so that the name of a loader stands beside its own share.
    known = loaders.dropna(subset="share_of_limit").sort_values("share_of_limit")
    best = known.groupby("order").tail(1).sort_values("order")
    shares = "; ".join(
        f"{line.order}: {line.loader} with {line.workers:.0f} workers, {line.share_of_limit:.0%}, largest of "
        f"{(known['order'] == line.order).sum()} run here"
        for line in best.itertuples()
    )
    return f"""
Rows per CPU-second over all processes, of the first epoch from a {states} page cache without the start of workers
(full), and of the epochs after it (hollow). {
        f"{short} of {len(loaders)} have no rate of the first epoch: too short, or the start of workers is not known. "
        if short
        else ""
    }The stroke is the read ceiling: the fastest of the ways that were tried without a loader to deliver rows in the
same order, from the page cache, measured in the same runs. Shares of it, warm: {
        shares or "not known"
    }. Memory: anonymous and shared, which
the kernel cannot take back (full), and PSS with the page cache in it (hollow). Lines: 95 % intervals of a
cell's own repeats; {figures.counts(loaders["n"])}. {
        "Not every row came once: " + faults + "." if faults else "Every row was delivered once by all."
    }
"""
