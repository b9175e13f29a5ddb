"""Anonymous memory of the largest process that reads, by stack and setting, with the rows that it delivered."""

from beyond_ram import figures
from beyond_ram.analysis.frame import axes as axes_of
from beyond_ram.analysis.frame import describe
from beyond_ram.experiment import AXES

# Lines that one picture can hold.
MOST = 40


def plot(streaming):
    known = streaming[streaming["worker_grown_anon_bytes"].notna()]
    return figures.drawn(known, draw, "no experiment of this config streams")


def draw(cells):
    table = cells.loc[cells["worker_grown_anon_bytes"].nlargest(MOST).index].sort_index()
    varied = [axis for axis in axes_of(cells) if axis in AXES and axis != "stack" and cells[axis].nunique() > 1]
    varied = varied or ["workers"]
    table = table.copy().assign(setting=[", ".join(describe(line, varied)) for line in table.to_dict("records")])
    if table.duplicated(["setting", "stack"]).any():
        table["setting"] = table["experiment"] + ": " + table["setting"]
    names, stacks = list(dict.fromkeys(table["setting"])), list(dict.fromkeys(table["stack"]))
    colours = figures.colours(stacks)
    bars = [(s, stack) for s in names for stack in stacks if len(table[_is(table, s, stack)])]
    height = 0.3 * len(bars) + 0.25 * len(names) + 1.6
    figure, (axes,) = figures.panels(1, max(3.2, height), 0)
    place, ticks = 0.0, []
    for setting in names:
        first = place
        for stack in stacks:
            found = table[_is(table, setting, stack)]
            if found.empty:
                continue
            row = found.iloc[0]
            low, middle, high = (row[f"worker_grown_anon_bytes{end}"] / figures.MB for end in ("_min", "", "_max"))
            filled = colours[stack] if row["n"] > 1 else "white"
            axes.plot([low, high], [place, place], "|-", color=colours[stack], linewidth=2, markersize=9)
            axes.plot(
                middle, place, "o", color=colours[stack], markersize=8, markerfacecolor=filled, markeredgewidth=1.8
            )
            said = f"{middle:,.1f} MB; {row['rows_per_worker_min']:,.0f} rows; n = {row['n']:.0f}"
            figures.beside(axes, said, (max(high, 0), place), 10)
            place += 1
        ticks.append(((first + place - 1) / 2, setting))
        place += 0.8
    axes.set_yticks([at for at, _ in ticks], [figures.fill(text, 2.3) for _, text in ticks])
    axes.set_ylim(place - 0.8, -1)  # from top to bottom
    axes.grid(visible=False, axis="y")
    ends = (
        table["worker_grown_anon_bytes_max"].max() / figures.MB,
        table["worker_grown_anon_bytes_min"].min() / figures.MB,
    )
    axes.set_xlim(min(ends[1], 0) - 0.03 * ends[0], 2.4 * ends[0])  # with room for what is said of each
    axes.set_xlabel(figures.fill("growth of anonymous memory of the largest process that reads (MB)", 3.4))
    used = [stack for stack in stacks if stack in set(table["stack"])]
    handles = [figures.handle(stack, linestyle="", marker="o", markersize=8, color=colours[stack]) for stack in used]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(3, len(used)))
    most = table.loc[table["worker_grown_anon_bytes"].idxmax()]
    spread = "Medians; lines from the lowest to the highest repeat; hollow where there was one run."
    spread = spread if table["n"].max() > 1 else "One run each."
    largest = "" if len(table) == len(cells) else f"Of {len(cells)} cells those that grew most are drawn. "
    caption = f"""
Anonymous memory that the largest reading process took beyond what it had when it began: a worker, or the main process
where there are none. Beside each dot the rows that the least busy worker delivered: a starved worker looks thrifty.
{spread} {largest}The largest of {len(cells)} run here is
{most["worker_grown_anon_bytes"] / figures.MB:,.0f} MB ({most["stack"]}, {most["setting"]}). Read by each process with
every batch, so a spike within a batch is not in it.
"""
    return figure, caption


def _is(table, setting, stack):
    return (table["setting"] == setting) & (table["stack"] == stack)
