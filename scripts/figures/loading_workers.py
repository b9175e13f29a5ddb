"""Memory against the number of workers: PSS beside summed RSS."""

from beyond_ram import figures
from beyond_ram.analysis.loaders import whole


def several_counts(loaders):
    return loaders if loaders["workers"].nunique() > 1 else loaders.head(0)


def draw(loaders):
    loaders = loaders[loaders["page_cache"] == "warm"] if loaders["page_cache"].nunique() > 1 else loaders
    loaders = loaders.drop_duplicates(["tokens", "loader", "order", "workers"])
    loaders = loaders[loaders.groupby(["tokens", "loader", "order"])["workers"].transform("nunique") > 1]
    names = list(dict.fromkeys(loaders["loader"]))
    figure, panels = figures.panels(
        len(names), lambda columns, rows: (2.5 * columns + 1, 2.5 * rows + 1), most_columns=6, sharex=True
    )
    for axes, name in zip(panels, names, strict=True):
        mine = loaders[(loaders["loader"] == name)]
        same = ["tokens", "order"]
        mine = mine[(mine[same] == mine[same].iloc[-1]).all(axis=1)].sort_values("workers")
        for kind, label, colour in (("rss", "RSS, summed", "#999999"), ("pss", "PSS, summed", "#0072B2")):
            axes.plot(mine["workers"], mine[f"end_{kind}_bytes"] / figures.MB, "o-", color=colour, label=label)
        axes.set_title(name, fontsize=10)
        axes.set_ylim(0, 1.1 * mine["end_rss_bytes"].max() / figures.MB)
        axes.set_xticks(sorted(loaders["workers"].unique()))
        axes.tick_params(labelsize=8)
    figure.supxlabel("workers", fontsize=11)
    figure.supylabel("memory at the end of the last epoch (MB)", fontsize=11)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    most = loaders[loaders["workers"] == loaders["workers"].max()]
    factor = most["end_rss_bytes"] / most["end_pss_bytes"]
    caption = f"""
RSS summed over all processes counts what they share once for each of them; PSS counts it once. With
{most["workers"].max():.0f} workers summed RSS is {factor.min():.1f} to {factor.max():.1f} times PSS. Medians; n =
{loaders["n"].min():.0f}{"" if loaders["n"].nunique() < 2 else f" to {loaders['n'].max():.0f}"}.
"""
    return figure, caption


def plot(loaders):
    reason = "no experiment of this config loads with several numbers of workers"
    return figures.drawn(several_counts(whole(loaders)), draw, reason)
