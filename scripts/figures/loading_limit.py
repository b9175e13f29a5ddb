"""Loaders under a memory limit smaller than the data: which complete, and how fast."""

from beyond_ram import figures
from beyond_ram.analysis.loaders import by_way

CROWDED = 90


def plot(loaders):
    if "limit_percent" in loaders:
        loaders = by_way(loaders[(loaders["limit_percent"] > 0) & (loaders["outcome"] != "not_applicable")])
    if "limit_percent" not in loaders or loaders.empty:
        return "no experiment of this config loads under a memory limit"
    name = loaders["loader"] + ", " + loaders["order"] + ", " + loaders["workers"].map("{:.0f} workers".format)
    if loaders["limit_percent"].nunique() > 1:
        name += ", " + loaders["limit_percent"].map("{:.0f} %".format)
    loaders = loaders.assign(name=name).sort_values("rows_per_s_first_epoch", ascending=False, na_position="last")
    figure, (axes,) = figures.panels(1, 0.42 * len(loaders) + 1.8, 0)
    for place, line in enumerate(loaders.to_dict("records")):
        _, colour = figures.loader_kind(line["loader_kind"])
        rate, high = line["rows_per_s_first_epoch"], line["rows_per_s_first_epoch_high"]
        note = "" if line["account"] == "every row once" else f": {line['account'][:CROWDED]}"
        if rate == rate:
            style = {"color": colour, "alpha": figures.opacity(line["n"])}
            if high == high:
                axes.plot([line["rows_per_s_first_epoch_low"], high], [place, place], linewidth=1.5, **style)
            axes.plot(rate, place, "o", **style)
            label, at = f"{rate:,.0f} (n = {line['n']:.0f}){note}", high if high == high else rate
            figures.beside(axes, label, (at, place), 8)
        else:
            done = line["n"] > 0
            label = f"n = {line['n']:.0f}{note}" + (", too short to be a rate" if done else "")
            figures.beside(axes, label, (0, place), 4, color="#333333" if done else "#B22222")
    axes.set_yticks(range(len(loaders)), [figures.fill(name, 1.8) for name in loaders["name"]])
    furthest = loaders[["rows_per_s_first_epoch", "rows_per_s_first_epoch_high"]].max().max()
    axes.set_xlim(0, 1.9 * furthest if furthest > 0 else 1)
    axes.set_ylim(len(loaders) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.locator_params(axis="x", nbins=4)
    caches = " or ".join(loaders["page_cache"].unique())
    axes.set_xlabel(f"rows per second, first epoch, {caches} page cache")
    percent = sorted(loaders["limit_percent"].unique())
    done = (loaders["outcome"] == "completed").sum()
    kinds = {figures.loader_kind(kind) for kind in loaders.loc[loaders["n"] > 0, "loader_kind"]}
    handles = [figures.handle(label, linestyle="", marker="o", color=colour) for label, colour in sorted(kinds)]
    if furthest > 0:
        figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False)
    else:
        axes.set_xticks([])
    caption = f"""
With a hard limit by the kernel of {", ".join(f"{value:.0f} %" for value in percent)} of the data. The limit includes
page cache, the interpreter and its imports, except files that other groups have read before. In {done} of
{len(loaders)} cells every run completes; the others show the reason. Means, lines are 95 % intervals;
{figures.counts(loaders["n"])}. Wall-clock rates depend on the disk.
"""
    return figure, caption
