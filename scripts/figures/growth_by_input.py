"""Heap and resident memory against the text done: a panel per corpus and mode, a colour per stack and setting."""

from beyond_ram import figures
from beyond_ram.analysis.frame import axes as axes_of
from beyond_ram.analysis.frame import describe, key, same_but_for, varied
from beyond_ram.analysis.growth import missing_mb, traces
from beyond_ram.analysis.holders import cause_in_words

PANEL = ["corpus", "mode"]
MOST_LINES = 12


def plot(records, samples, growth, holders=None):
    if growth.empty:
        return "no cell of this config has enough readings of memory against text"
    growth = growth[growth["cache"] == "cold"]
    # Smaller inputs of the same corpus are there to compare settings.
    growth = growth[growth["bytes_in_max"] == growth.groupby("corpus")["bytes_in_max"].transform("max")]
    hidden = ""
    if len(growth) > MOST_LINES:
        hidden = f" Of {len(growth)} settings, those with the largest rise are shown; table `growth` has all."
        growth = growth.loc[growth["anon_rise_mb"].nlargest(MOST_LINES).index].sort_index()
    growth = growth.assign(named=named(growth))
    panels = [*growth.groupby(PANEL, sort=False)]
    order = figures.subject_order(growth.assign(corpus=""))
    names = sorted(growth["named"].unique(), key=lambda name: (order.index(name.partition(";")[0]), name))
    colours = figures.colours(names)
    figure, grid = figures.panels(len(panels), 2.7, 0.7, width=figures.ANSWER, sharey=True)
    read = {key(cell): points for cell, points in traces(records, samples, {*map(key, lines_of(growth))})}
    sentences = []
    for axes, ((corpus, mode), lines) in zip(grid, panels, strict=True):
        heaps = [draw(axes, read.get(key(line)), line["named"], colours[line["named"]]) for line in lines_of(lines)]
        title = corpus if growth["mode"].nunique() == 1 else f"{corpus}, {mode}"
        causes = [cause_in_words(holders, line) for line in lines_of(lines)]
        sentences.append(answer(title, lines_of(lines), heaps, causes))
        axes.set_title(title)
        axes.set_xlabel("text done (MB)")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
    figure.supylabel("memory (MB)")
    handles = [figures.handle(name, color=colours[name], linewidth=2) for name in names]
    handles += [figures.handle(name, color="0.3", linestyle=style) for name, style in (("heap", "-"), ("RSS", ":"))]
    figure.legend(handles=handles, loc="outside lower center", ncols=1 if max(map(len, names)) > 20 else 2)
    condition = f"""
Memory against the text done, read between documents, so without the peaks within one; means of the runs. The heap is
anonymous memory. RSS has the mapped files too, which the kernel can take back. Of each corpus, the largest input.
Intervals are at 95 %; table `growth` has the readings behind each.{hidden}
"""
    return figure, f"{' '.join(sentences)}\n\n{condition.strip()}"


def lines_of(table):
    return table.to_dict("records")


def answer(title, lines, heaps, causes):
    """How much heap each stack kept per text of one corpus. `heaps` has the lowest and highest reading of each line."""
    first = lines[0]
    words = f" ({size(first['word_bytes'])} a word)" if first["word_bytes"] > 0 else ""
    text = f"On {first['bytes_in_max'] / figures.MB:,.0f} MB of {title}{words}"
    sentences = ". ".join(map(kept, lines, heaps, causes))
    return f"{text}, {sentences[0].lower()}{sentences[1:]}."


def size(count):
    """A number of bytes with two digits."""
    return (
        f"{figures.two_digits(count)} bytes"
        if count < figures.MB / 1000
        else f"{figures.two_digits(count / figures.MB)} MB"
    )


def kept(line, heap, cause):
    """The rate at which the heap of one line grows, or between which sizes it lay; and its distance from the baseline,
    where that is decided."""
    slope, low, high = (line[f"anon_slope_mb_per_gb{end}"] / 1000 for end in ("", "_low", "_high"))
    shape, n = line["anon_shape"], f"n = {line['n']:.0f}"
    interval = f"{figures.two_digits(low)} to {figures.two_digits(high)}" if low == low else ""
    parts = []
    if shape in ("straight", "grows") and not missing_mb(line):
        rate = f"grew by {figures.two_digits(slope)} MB per MB of text"
        parts += [f"{rate} ({', '.join(filter(None, [interval, n]))})", *([cause] if cause else [])]
    else:
        parts.append(f"lay between {heap[0]:,.0f} and {heap[1]:,.0f} MB ({n})" if heap else f"was not read ({n})")
        undecided = "whether it grows is undecided" + (f" ({interval} MB per MB of text)" if interval else "")
        ways = {"flat": " and did not grow", "levels off": " and levelled off", "undecided": f"; {undecided}"}
        parts[-1] += ways.get(shape, " and rose")
    if line["difference_result"] in ("better", "worse"):
        less = "less" if line["difference_result"] == "better" else "more"
        ends = sorted(abs(line[f"difference_{end}"]) / 1000 for end in ("low", "high"))
        by = " to ".join(map(figures.two_digits, ends))
        parts.append(f"per MB of text it grew by {by} MB {less} than with {line['against']}")
    return f"With {line['named']} the heap {'; '.join(parts)}"


def named(growth):
    """Name the stack of each line, with the settings that differ between lines of one panel."""
    settings = [axis for axis in axes_of(growth) if axis not in ("stack", *PANEL)]
    differ = {axis for _, group in same_but_for(growth, "stack", "corpus", *settings) for axis in varied(group)}
    shown = [axis for axis in settings if axis in differ]
    words = ["".join(f"; {word}" for word in describe(line, shown)) for line in growth.to_dict("records")]
    return growth["stack"] + words


def draw(axes, points, name, colour):
    """Draw the readings of a cell, heap and RSS. Returns the lowest and highest heap in MB, if it was read."""
    if points is None:
        return None
    text, heap, file = points.bytes_in, points.memory["anon"], points.memory["file"]
    for memory, style in ((heap, "-"), (heap + file, ":")):
        axes.plot(text / figures.MB, memory / figures.MB, style, color=colour, linewidth=2, label=name)
    return heap.min() / figures.MB, heap.max() / figures.MB
