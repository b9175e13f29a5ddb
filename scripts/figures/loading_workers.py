"""Memory against the number of workers: kept memory, PSS, and summed RSS, on one scale."""

from beyond_ram import figures
from beyond_ram.analysis.loaders import whole

KINDS = (
    ("end_rss_bytes", "RSS, summed", "#999999", "o"),
    ("end_pss_bytes", "PSS, summed", "#0072B2", "s"),
    ("held_bytes", "kept memory", "#D55E00", "D"),
)
ONE = ["tokens", "loader", "order", "page_cache"]


def plot(loaders):
    # Loaders with several numbers of workers in otherwise equal cells; with a warm cache if there are several states.
    loaders = whole(loaders).drop_duplicates([*ONE, "workers"])
    loaders = loaders[loaders.groupby(ONE)["workers"].transform("nunique") > 1]
    loaders = loaders[loaders["page_cache"] == "warm"] if loaders["page_cache"].nunique() > 1 else loaders
    if loaders.empty:
        return "no experiment of this config loads with several numbers of workers"
    # A panel per loader, for the last dataset and order.
    last = loaders.groupby("loader")[["tokens", "order"]].transform("last")
    loaders = loaders[(loaders[["tokens", "order"]] == last).all(axis=1)]
    names = list(dict.fromkeys(loaders["loader"]))
    figure, panels = figures.panels(len(names), 2.3, 1, most_columns=3, sharex=True, sharey=True)
    most_mb = loaders[[name for name, *_ in KINDS]].max().max() / figures.MB
    for axes, name in zip(panels, names, strict=True):
        mine = loaders[loaders["loader"] == name].sort_values("workers")
        for kind, label, colour, marker in KINDS:
            style = {"color": colour, "label": label, "alpha": figures.opacity(mine["n"].min())}
            axes.plot(mine["workers"], mine[kind] / figures.MB, f"{marker}-", fillstyle="none", **style)
        axes.set_title(f"{name}\n{mine['order'].iloc[0]}, {figures.counts(mine['n'])}")
        axes.set_xticks(sorted(loaders["workers"].unique()))
    panels[0].set_ylim(0, 1.1 * most_mb)
    figure.supxlabel("workers")
    figure.supylabel("memory of all processes (MB)")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)
    most = loaders[loaders["workers"] == loaders["workers"].max()]
    factor = most["end_rss_bytes"] / most["end_pss_bytes"]
    between = f"{factor.min():.1f}" if len(factor) == 1 else f"{factor.min():.1f} to {factor.max():.1f}"
    caption = f"""
RSS summed over all processes counts shared pages once per process; PSS counts them once. With
{most["workers"].max():.0f} workers summed RSS is {between} times PSS after the last epoch, over {
        len(most)
    } cells. Kept memory
is anonymous and shared memory; the rest of PSS is files in the page cache. {
        "Medians" if loaders["n"].max() > 1 else "One run each"
    }; {figures.counts(loaders["n"])}.
"""
    return figure, caption
