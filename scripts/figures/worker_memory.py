"""Anonymous memory of the largest process that reads, by stack and setting, with the rows that it delivered."""

from beyond_ram import figures
from beyond_ram.analysis.frame import axes as axes_of
from beyond_ram.analysis.frame import describe
from beyond_ram.experiment import AXES

# Lines that one picture can hold.
MOST = 40


def plot(streaming):
    cells = streaming[streaming["worker_grown_anon_bytes"].notna()]
    if cells.empty:
        return "no experiment of this config streams"
    table = cells.loc[cells["worker_grown_anon_bytes"].nlargest(MOST).index].sort_index().copy()  # in one piece
    varied = [axis for axis in axes_of(cells) if axis in AXES and axis != "stack" and cells[axis].nunique() > 1]
    varied = varied or ["workers"]
    table = table.assign(setting=[", ".join(describe(line, varied)) for line in table.to_dict("records")])
    if table.duplicated(["setting", "stack"]).any():
        table["setting"] = table["experiment"] + ": " + table["setting"]
    names, stacks = list(dict.fromkeys(table["setting"])), list(dict.fromkeys(table["stack"]))
    colours = figures.colours(stacks)
    # One line a bar; stacks of a setting in one order.
    bars = table.drop_duplicates(["setting", "stack"]).sort_values("stack", key=lambda name: name.map(stacks.index))
    height = 0.3 * len(bars) + 0.25 * len(names) + 1.6
    figure, (axes,) = figures.panels(1, max(3.2, height), 0)
    place, ticks = 0.0, []
    for setting in names:
        first = place
        for row in bars[bars["setting"] == setting].to_dict("records"):
            low, middle, high = (row[f"worker_grown_anon_bytes{end}"] / figures.MB for end in ("_min", "", "_max"))
            figures.ranged(axes, place, low, middle, high, colours[row["stack"]], row["n"])
            said = f"{middle:,.1f} MB; {row['rows_per_worker_min']:,.0f} rows; n = {row['n']:.0f}"
            figures.beside(axes, said, (max(high, 0), place), 10)
            place += 1
        ticks.append(((first + place - 1) / 2, setting))
        place += 0.8
    axes.set_yticks([at for at, _ in ticks], [figures.fill(text, 2.3) for _, text in ticks])
    axes.set_ylim(place - 0.8, -1)  # from top to bottom
    axes.grid(visible=False, axis="y")
    least = table["worker_grown_anon_bytes_min"].min() / figures.MB
    most = table["worker_grown_anon_bytes_max"].max() / figures.MB
    axes.set_xlim(min(least, 0) - 0.03 * most, 2.4 * most)  # with room for what is said of each
    axes.set_xlabel(figures.fill("growth of anonymous memory of the largest process that reads (MB)", 3.4))
    used = [stack for stack in stacks if stack in set(table["stack"])]
    handles = [figures.handle(stack, linestyle="", marker="o", markersize=8, color=colours[stack]) for stack in used]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(3, len(used)))
    top = table.loc[table["worker_grown_anon_bytes"].idxmax()]
    spread = "Medians; lines from the lowest to the highest repeat; hollow where there was one run."
    spread = spread if table["n"].max() > 1 else "One run each."
    hidden = "" if len(table) == len(cells) else f"Of {len(cells)} cells those that grew most are drawn. "
    caption = f"""
Anonymous memory that the largest reading process took beyond what it had when it began: a worker, or the main process
where there are none. Beside each dot the rows that the least busy worker delivered: a starved worker looks thrifty.
{spread} {hidden}The largest of {len(cells)} run here is
{top["worker_grown_anon_bytes"] / figures.MB:,.0f} MB ({top["stack"]}, {top["setting"]}). Read by each process with
every batch, so a spike within a batch is not in it.
"""
    return figure, caption
