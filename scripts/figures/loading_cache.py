"""A cold page cache against a warm one, first epoch."""

from beyond_ram import figures
from beyond_ram.analysis.loaders import whole

STATES = {"cold": ("#0072B2", "o", -0.15), "warm": ("#D55E00", "s", 0.15)}


def plot(loaders):
    loaders = whole(loaders)
    loaders = loaders[loaders["rows_per_s_first_epoch"].notna()] if len(loaders) else loaders
    states = loaders.groupby(["tokens", "loader", "order", "workers"])["page_cache"].transform("nunique")
    loaders = loaders[states > 1]
    if loaders.empty:
        return "no experiment of this config loads from a cold and from a warm page cache"
    orders = list(dict.fromkeys(loaders["order"]))
    ways = loaders["loader"] + ", " + loaders["workers"].map("{:.0f} workers".format)
    loaders = loaders.assign(way=ways).drop_duplicates(["way", "order", "page_cache"])
    names = list(dict.fromkeys(loaders["way"]))
    height = (0.36 * len(names) + 1) * len(orders) + 0.6
    figure, grid = figures.rows(len(orders), height, sharey=True, sharex=True)
    for axes, order in zip(grid[:, 0], orders, strict=True):
        group = loaders[loaders["order"] == order]
        for line in group.to_dict("records"):
            colour, marker, up = STATES[line["page_cache"]]
            y, style = names.index(line["way"]) + up, {"color": colour, "alpha": figures.opacity(line["n"])}
            low, high = (line[f"rows_per_s_first_epoch_{end}"] for end in ("low", "high"))
            if low == low:
                axes.plot([low, high], [y, y], linewidth=1.5, **style)
            axes.plot(line["rows_per_s_first_epoch"], y, marker, **style)
        axes.set(xscale="log", title=f"{order}, {figures.counts(group['n'])}", xlabel="rows per second, first epoch")
    grid[0][0].set_yticks(range(len(names)), names)
    grid[0][0].set_ylim(len(names) - 0.5, -0.5)
    handles = [
        figures.handle(f"{state} page cache", linestyle="", marker=marker, color=colour)
        for state, (colour, marker, _) in STATES.items()
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False)
    cold = loaders[loaders["page_cache"] == "cold"]
    caption = f"""
Wall-clock rate of the first epoch from a cold and from a warm page cache, without the start of workers. Before the cold
runs {cold["input_resident_before"].median():.1%} of the data were resident, after them
{cold["input_resident_after"].median():.0%} (medians). Means, lines are 95 % intervals;
{figures.counts(loaders["n"])}. Wall-clock rates depend on the disk and on other work of the
machine.
"""
    return figure, caption
