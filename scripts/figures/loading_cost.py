"""Rate and memory of each loader."""

from beyond_ram import figures
from beyond_ram.analysis.loaders import whole

MARKERS = "osD^vP"
LINE_INCHES, LEAST_INCHES = 0.2, 1.6


def plot(loaders):
    loaders = whole(loaders)
    if loaders.empty:
        return "no experiment of this config loads token datasets"
    # One line per mark: a cold page cache before a warm one, and the first start method in the config.
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
        marker = MARKERS[counts.index(line["workers"]) % len(MARKERS)]
        y = names.index(line["loader"]) + (present.index(line["workers"]) - (len(present) - 1) / 2) * step
        draw_rates(rate, line, y, step, marker)
        draw_memory(memory, line, y, step)
    faulty = set(group.loc[group["account"] != "every row once", "loader"])
    labels = [f"{name}\n(not every row once)" if name in faulty else name for name in names]
    rate.set_yticks(range(len(names)), labels)
    memory.set_yticks(range(len(names)), [""] * len(names))
    for axes in (rate, memory):
        axes.set_ylim(len(names) - 0.45, -0.55)
    memory.grid(visible=False, axis="y")
    rate.set_xscale("log")
    if best.isna().all():
        rate.text(0.5, 0.5, "epochs too short for a rate", transform=rate.transAxes, ha="center", va="center")


def style_of(line):
    return {"color": figures.loader_kind(line["loader_kind"])[1], "alpha": figures.opacity(line["n"])}


def draw_rates(axes, line, y, step, marker):
    """Draw the rate of the first epoch (full), and of later epochs (hollow)."""
    for name, up, fill in (("rows_per_cpu_s", -step / 5, "full"), ("rows_per_cpu_s_warm", step / 5, "none")):
        if line[f"{name}_low"] == line[f"{name}_low"]:
            axes.plot([line[f"{name}_low"], line[f"{name}_high"]], [y + up] * 2, linewidth=1, **style_of(line))
        axes.plot(line[name], y + up, marker, fillstyle=fill, markersize=6, **style_of(line))


def draw_memory(axes, line, y, step):
    """Draw kept memory as a bar, and PSS as a line from the end of the bar."""
    kept, pss = line["held_bytes"] / figures.MB, line["end_pss_bytes"] / figures.MB
    axes.barh(y, kept, height=0.7 * step, linewidth=0, **style_of(line))
    axes.plot([kept, pss], [y, y], linewidth=1, **style_of(line))
    axes.plot(pss, y, "|", markersize=12 * step + 3, **style_of(line))


def legend(figure, loaders, counts):
    grey = {"linestyle": "", "color": "#555555"}
    kinds = list(dict.fromkeys(figures.loader_kind(kind) for kind in loaders["loader_kind"]))
    handles = [figures.handle(label, color=colour, linewidth=4) for label, colour in sorted(kinds)]
    handles += [
        figures.handle(f"{count:.0f} workers", marker=MARKERS[place % 6], **grey) for place, count in enumerate(counts)
    ]
    handles += [
        figures.handle("left, full: first epoch", marker="o", **grey),
        figures.handle("left, hollow: later epochs", marker="o", fillstyle="none", **grey),
        figures.handle("right, bar: kept memory", marker="s", markersize=9, **grey),
        figures.handle("right, line: PSS, with page cache", marker="|", linestyle="-", color="#555555", markersize=9),
    ]
    if (loaders["n"] < 2).any():
        handles.append(figures.handle("faint: n = 1", marker="o", alpha=figures.opacity(1), **grey))
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False)


def caption(loaders):
    wrong = loaders[loaders["account"] != "every row once"]
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
