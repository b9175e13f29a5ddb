"""Heap and resident memory against the text done: a panel per corpus and mode, a colour per stack and setting."""

import pandas as pd

from beyond_ram import figures
from beyond_ram.analysis.frame import axes as axes_of
from beyond_ram.analysis.frame import describe, same_but_for, varied
from beyond_ram.analysis.growth import fitted as fit_of
from beyond_ram.analysis.growth import in_words, read_closely, text_read

PANEL = ["corpus", "mode"]
MOST_LINES = 12


def plot(records, samples, growth):
    if growth.empty:
        return "no cell of this config has enough readings of memory against text"
    growth = growth[growth["cache"] == "cold"]
    # Smaller inputs of the same corpus are there to compare settings.
    growth = growth[growth["bytes_in_max"] == growth.groupby("corpus")["bytes_in_max"].transform("max")]
    hidden = ""
    if len(growth) > MOST_LINES:
        hidden = f" Of {len(growth)} cells, those with the largest rise are shown; table `growth` has all."
        growth = growth.loc[growth["anon_rise_mb"].nlargest(MOST_LINES).index].sort_index()
    growth = growth.assign(named=named(growth))
    panels = [*growth.groupby(PANEL, sort=False)]
    order = figures.subject_order(growth.assign(corpus=""))
    names = sorted(growth["named"].unique(), key=lambda name: (order.index(name.partition(";")[0]), name))
    colours = figures.colours(names)
    figure, grid = figures.panels(len(panels), 3.6, 0.6, sharey=True)
    cells = [record["cell"] for record, _ in records]
    for axes, ((corpus, mode), lines) in zip(grid, panels, strict=True):
        for line in lines.to_dict("records"):
            draw(axes, read_closely(records, samples, places(cells, line)), line, colours[line["named"]])
        axes.set_title(corpus if growth["mode"].nunique() == 1 else f"{corpus}, {mode}")
        axes.set_xlabel("text done (MB)")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
    figure.supylabel("memory (MB)")
    handles = [figures.handle(name, color=colours[name], linewidth=2) for name in names]
    handles += [figures.handle(name, color="0.3", linestyle=style) for name, style in (("heap", "-"), ("RSS", ":"))]
    figure.legend(handles=handles, loc="outside lower center", ncols=1 if max(map(len, names)) > 30 else 2)
    sentences = "; ".join(f"{line['corpus']}, {line['named']}: heap {in_words(line)}" for line in lines_of(growth))
    condition = f"""
Memory against the text done, read between documents; means of the runs. The heap is anonymous memory, RSS has the
mapped files too, which the kernel can take back. Of each corpus, the cells with the most text. {sentences}.{hidden}
"""
    return figure, f"{answer(growth)}\n\n{condition.strip()}"


def lines_of(table):
    return table.to_dict("records")


def answer(growth):
    """How much heap each stack kept per text, corpus by corpus."""
    several = growth["mode"].nunique() > 1
    return " ".join(
        f"Tokenising {corpus}{f' (mode {mode})' if several else ''}, {text_read(lines_of(lines)[0])}, the heap of "
        f"{'; of '.join(map(kept, lines_of(lines)))}."
        for (corpus, mode), lines in growth.groupby(PANEL, sort=False)
    )


def kept(line):
    """What the heap of one line rose by, and its rate where it goes on growing."""
    slope, low, high = (line[f"anon_slope_mb_per_gb{end}"] / 1000 for end in ("", "_low", "_high"))
    rise = f"{line['named']} rose by {line['anon_rise_mb']:,.0f} MB"
    more = {"levels off": ", then no more", "undecided": ", too little to tell growth from scatter"}
    if line["anon_shape"] in ("straight", "grows"):
        interval = f" ({rounded(low)} to {rounded(high)})" if low == low else ""
        rise += f", {rounded(slope)} MB per MB of text{interval}"
    return f"{rise}{more.get(line['anon_shape'], '')} (n = {line['runs']:.0f})"


def rounded(number):
    """A number with two digits, never as a power of ten."""
    return f"{float(f'{number:.2g}'):,g}"


def named(growth):
    """Name the stack of each line, with the settings that differ between lines of one panel."""
    settings = [axis for axis in axes_of(growth) if axis not in ("stack", *PANEL)]
    differ = {axis for _, group in same_but_for(growth, "stack", "corpus", *settings) for axis in varied(group)}
    shown = [axis for axis in settings if axis in differ]
    words = ["".join(f"; {word}" for word in describe(line, shown)) for line in growth.to_dict("records")]
    return growth["stack"] + words


def places(cells, line):
    """The places of the runs behind a line of table `growth`."""
    settings = {axis: line[axis] for axis in axes_of(pd.DataFrame([line]))}
    return [place for place, cell in enumerate(cells) if all(cell.get(axis) == settings[axis] for axis in settings)]


def draw(axes, runs, line, colour):
    """Draw the readings of a cell: heap and RSS."""
    fit = fit_of(runs, pd.Series(line).drop("named"), "anon")
    if fit is None:
        return
    text, heap, file = fit.trace.bytes_in, fit.trace.memory["anon"], fit.trace.memory["file"]
    for size, style in ((heap, "-"), (heap + file, ":")):
        axes.plot(text / figures.MB, size / figures.MB, style, color=colour, linewidth=2, label=line["named"])
