"""Anonymous memory of the largest process that reads, by stack and setting, with the rows that it delivered."""

import matplotlib.pyplot as plt

from beyond_ram import figures
from beyond_ram.analysis.frame import axes as axes_of
from beyond_ram.analysis.frame import describe
from beyond_ram.experiment import AXES


def settings(table):
    """The axes that matter to the memory of a process: not how it is served, nor how often all is read."""
    return [axis for axis in axes_of(table) if axis in AXES and AXES[axis].role != "endpoint" and axis != "epochs"]


def plot(streaming):
    table = streaming
    known = table[table["worker_grown_anon_bytes"].notna() & (table["outcome"] == "completed")]
    # Network and faults are no matter of memory: the plainest conditions stand for all.
    known = known.sort_values(["latency_ms", "bandwidth_mb_per_s", "page_size"]).drop_duplicates(settings(known))
    known = known.sort_index()
    return figures.drawn(known, draw, "no experiment of this config streams")


def draw(table):
    varied = [axis for axis in settings(table) if axis != "stack" and table[axis].nunique() > 1] or ["workers"]
    table = table.assign(setting=[", ".join(describe(line, varied)) for line in table.to_dict("records")])
    names, stacks = list(dict.fromkeys(table["setting"])), list(dict.fromkeys(table["stack"]))
    colours = figures.colours(stacks)
    bars = [(s, stack) for s in names for stack in stacks if len(table[_is(table, s, stack)])]
    height = 0.3 * len(bars) + 0.25 * len(names) + 1.6
    figure, axes = plt.subplots(figsize=(11, max(3.2, height)), layout="constrained")
    place, ticks = 0.0, []
    for setting in names:
        first = place
        for stack in stacks:
            found = table[_is(table, setting, stack)]
            if found.empty:
                continue
            row = found.iloc[0]
            low, middle, high = (row[f"worker_grown_anon_bytes{end}"] / figures.MB for end in ("_min", "", "_max"))
            spread = [[max(middle - low, 0)], [max(high - middle, 0)]]
            axes.barh(place, middle, height=0.85, color=colours[stack], xerr=spread, ecolor="#222222")
            said = f" {middle:,.1f} MB; {row['rows_per_worker_min']:,.0f} rows"
            axes.text(max(middle, high, 0), place, said, va="center", fontsize=8.5)
            place += 1
        ticks.append(((first + place - 1) / 2, setting))
        place += 0.8
    axes.set_yticks([at for at, _ in ticks], [text for _, text in ticks], fontsize=9)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.margins(x=0.25)
    axes.set_xlabel("growth of anonymous memory of the largest process that reads (MB)")
    used = [stack for stack in stacks if stack in set(table["stack"])]
    handles = [plt.Rectangle((0, 0), 1, 1, color=colours[stack], label=stack) for stack in used]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(4, len(used)), fontsize=10)
    most = table.loc[table["worker_grown_anon_bytes"].idxmax()]
    caption = f"""
Anonymous memory that the largest reading process took beyond what it had when it began: a worker, or the main process
where there are none. Beside each bar the rows that the least busy worker delivered: a starved worker looks thrifty.
Medians; whiskers from the lowest to the highest of n = {_range(table["n"])} runs. The most is
{most["worker_grown_anon_bytes"] / figures.MB:,.0f} MB ({most["stack"]}, {most["setting"]}). Read by each process with
every batch, so a spike within a batch is not in it.
"""
    return figure, caption


def _is(table, setting, stack):
    return (table["setting"] == setting) & (table["stack"] == stack)


def _range(numbers):
    low, high = int(numbers.min()), int(numbers.max())
    return str(low) if low == high else f"{low} to {high}"
