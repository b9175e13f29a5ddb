"""Anonymous memory of all processes, epoch by epoch, by the type of the records."""

from beyond_ram import figures
from beyond_ram.analysis.frame import describe, same_but_for, varied

# Axes that are the same within a panel.
ALWAYS = ("workers", "start")
OBJECTS = ("dicts", "strings")
DISPROOF = """Forked workers copy objects and leave buffers shared: a rising line of numpy, arrow or tensor would
disprove it."""


def plot(copy_on_write):
    table = copy_on_write[copy_on_write["end_pss_anon_bytes"].notna()]
    if table.empty:
        return "no experiment of this config holds records in memory"
    settings = list(same_but_for(table, "holding"))
    names = list(dict.fromkeys(table["holding"]))
    colours = figures.colours(names)
    highest = table[["end_pss_anon_bytes_max", "first_batch_pss_anon_bytes_max"]].max().max() / figures.MB
    figure, panels = figures.panels(len(settings), 3.2, sharey=True)
    for axes, (cell, lines) in zip(panels, settings, strict=True):
        for name, group in lines.groupby("holding", sort=False):
            draw_line(axes, group.sort_values("epoch"), colours[name], "osDX^"[names.index(name) % 5])
        axes.set_title(figures.fill(f"{title(cell, table)}, {figures.counts(lines['n'])}", 3))
        most = int(lines["epochs"].max())
        axes.set_xticks(range(most + 1), ["first batch", *map(str, range(1, most + 1))])
        axes.set_xlim(-0.3, most + 0.3)
        axes.set_xlabel("epochs done")
        axes.set_ylim(0, 1.08 * highest)
    figure.supylabel("anonymous PSS of all processes (MB)")
    handles = [figures.handle(name, color=colours[name], marker="osDX^"[place % 5]) for place, name in enumerate(names)]
    figure.legend(handles=handles, loc="outside right upper", frameon=False, title="records held as")
    return figure, caption(table)


def draw_line(axes, group, colour, marker):
    first = group.iloc[[0]]
    places = [0, *(group["epoch"] + 1)]
    middle, low, high = (
        [*first[f"first_batch_pss_anon_bytes{end}"] / figures.MB, *group[f"end_pss_anon_bytes{end}"] / figures.MB]
        for end in ("", "_min", "_max")
    )
    spread = [[m - x for m, x in zip(middle, low, strict=True)], [x - m for m, x in zip(middle, high, strict=True)]]
    style = {"color": colour, "alpha": figures.opacity(group["n"].min())}
    axes.errorbar(places, middle, yerr=spread, marker=marker, capsize=3, linewidth=1.5, **style)


def title(cell, table):
    axes = [axis for axis in varied(table) if axis not in ("experiment", "holding", *ALWAYS)]
    return ", ".join(describe(cell, [*axes, *ALWAYS]))


def caption(table):
    last = table[table["epoch"] == table["epochs"] - 1]
    grown = "; ".join(
        f"{title(cell, table)}: "
        + ", ".join(f"{line.holding} {line.copied_bytes / figures.MB:+,.0f} MB" for line in lines.itertuples())
        for cell, lines in same_but_for(last, "holding")
    )
    wrong = last[last["account"] != "every row once"]
    rows = "every record came once" if wrong.empty else f"not every record came once by {', '.join(wrong['holding'])}"
    counts = sorted(table["n"].unique())
    return f"""
Anonymous PSS of all processes of a DataLoader, which counts a page once that several of them share, so that it grows
where one gets a copy of its own: after the first batch of the run, and after each epoch. The lines of a panel differ in
what holds the same {" or ".join(f"{count:,}" for count in sorted(table["records"].unique()))} records; tensors lie in
shared memory, which is not anonymous. From the first batch to the last epoch {grown}; {rows}. Medians; bars from the
lowest to the highest of n = {" or ".join(map(str, counts))}. {DISPROOF if both_kinds(last) else ""}
"""


def both_kinds(table):
    """Whether forked workers read objects and also buffers."""
    forked = table.loc[table["start"] == "fork", "holding"].isin(OBJECTS)
    return forked.any() and not forked.all()
