"""Under a memory limit smaller than the data: who lives, and how fast."""

import matplotlib.pyplot as plt

from beyond_ram import figures
from beyond_ram.analysis.loaders import by_way


def limited(loaders):
    if "limit_percent" not in loaders:
        return loaders.head(0)
    return by_way(loaders[(loaders["limit_percent"] > 0) & (loaders["outcome"] != "not_applicable")])


def draw(loaders):
    loaders = loaders.assign(
        name=loaders["loader"]
        + ", "
        + loaders["order"]
        + ", "
        + loaders["workers"].astype(int).astype(str)
        + " workers"
    )
    loaders = loaders.sort_values(["rows_per_s_first_epoch"], ascending=False, na_position="last")
    figure, axes = plt.subplots(figsize=(10, 0.34 * len(loaders) + 1.8), layout="constrained")
    for place, line in enumerate(loaders.to_dict("records")):
        _, colour = figures.loader_kind(line["loader_kind"])
        if line["rows_per_s_first_epoch"] == line["rows_per_s_first_epoch"]:
            axes.barh(place, line["rows_per_s_first_epoch"], color=colour, height=0.7)
            note = "" if line["account"] == "every row once" else f" {line['account']}"
            axes.annotate(
                f" {line['rows_per_s_first_epoch']:,.0f}{note}",
                (line["rows_per_s_first_epoch"], place),
                va="center",
                fontsize=8,
            )
        else:
            axes.annotate(f" {line['account'][:90]}", (0, place), va="center", fontsize=8, color="#B22222")
    axes.set_yticks(range(len(loaders)), loaders["name"], fontsize=8)
    fastest = loaders["rows_per_s_first_epoch"].max()
    axes.set_xlim(0, 1.25 * fastest if fastest > 0 else 1)
    axes.set_ylim(len(loaders) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("rows per second, first epoch, cold page cache")
    percent = sorted(loaders["limit_percent"].unique())
    done = (loaders["outcome"] == "completed").sum()
    seen = {figures.loader_kind(kind) for kind in loaders.loc[loaders["outcome"] == "completed", "loader_kind"]}
    handles = [plt.Rectangle((0, 0), 1, 1, color=colour, label=label) for label, colour in sorted(seen)]
    if fastest > 0:
        axes.legend(handles=handles, fontsize=8, loc="lower right")
    else:
        axes.set_xticks([])
    caption = f"""
Under a hard limit of the kernel's of {", ".join(f"{value:.0f} %" for value in percent)} of the data, page cache
and the interpreter with its imports included: {done} of {len(loaders)} cells complete. What did not complete says why.
n = {loaders["n"].min():.0f}. The clock depends on the disk.
"""
    return figure, caption


def plot(loaders):
    return figures.drawn(limited(loaders), draw, "no experiment of this config loads under a memory limit")
