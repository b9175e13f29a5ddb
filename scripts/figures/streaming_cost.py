"""What streaming costs, stack by stack, beside a download: requests, bytes, the time to the first batch, and memory."""

from beyond_ram import figures
from beyond_ram.analysis.frame import describe, same_but_for

COSTS = {
    "requests": ("requests", 1, "{:,.0f}"),
    "bytes_received": ("MB received", figures.MB, "{:,.1f}"),
    "time_to_first_batch_s": ("seconds to the first batch", 1, "{:,.2f}"),
    "peak_anon_once_bytes": ("MB of anonymous memory at the peak", figures.MB, "{:,.0f}"),
}

DOWNLOADED = """ A download reads everything before the first batch, and each later pass from the copy on disk."""


def plot(streaming):
    usual = streaming.query("mode in ['stream', 'download'] and fault == 'none' and buffering == 'default'")
    groups = [group for _, group in same_but_for(usual, "experiment", "stack", "mode") if compares(group)]
    if not groups:
        return "no experiment of this config streams with several stacks"
    group = max(groups, key=lambda lines: lines["workers"].max()).drop_duplicates(["stack", "mode"])
    names = [name_of(line) for line in group.to_dict("records")]
    colours = figures.colours(list(group["stack"]))
    costs = {name: cost for name, cost in COSTS.items() if name in group and group[name].notna().any()}
    figure, panels = figures.panels(len(costs), 0.3 * len(names) + 0.7, 0.2, most_columns=1, width=figures.ANSWER)
    for axes, (column, (label, scale, form)) in zip(panels, costs.items(), strict=True):
        for place, line in enumerate(group.to_dict("records")):
            value = line[column] / scale
            text = form.format(value) if value == value else str(line["outcome"]).replace("_", " ")
            axes.barh(place, value, 0.6, color=colours[line["stack"]])
            low, high = (line.get(f"{column}_{end}", line[column]) / scale for end in ("min", "max"))
            axes.plot([low, high], [place, place], "|-", color="0.2", linewidth=1.2, markersize=6)
            figures.beside(axes, text, (high if high == high else 0, place), 4)
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlim(0, 1.3 * group[column].max() / scale)
        axes.set_title(label)
        axes.grid(axis="y", visible=False)
    setting = ", ".join(describe(group.iloc[0], ("repository", "workers", "start", "latency_ms", "bandwidth_mb_per_s")))
    downloaded = DOWNLOADED if "download" in set(group["mode"]) else ""
    condition = f"""
One pass over a repository on a local server ({setting}); medians of the runs, {figures.counts(group["n"])}, whiskers
from the lowest to the highest. Requests and bytes are those that the server counted.{downloaded}
"""
    latency = group["latency_ms"].iloc[0]
    server = f" The server is local, with {latency:g} ms of latency." if latency == latency else ""
    return figure, f"{answer(group.to_dict('records'), costs)}{server}\n\n{condition.strip()}"


def compares(group):
    """Whether several stacks stream the same."""
    return group.loc[group["mode"] == "stream", "stack"].nunique() > 1


def name_of(line):
    return line["stack"] + (", downloaded" if line["mode"] == "download" else "")


def answer(lines, costs):
    sentences = []
    for line in lines:
        parts = [cost_of(line, name, label, scale, form)
                 for name, (label, scale, form) in costs.items() if line[name] == line[name]]  # fmt: skip
        shown = ", ".join(parts) or str(line["outcome"]).replace("_", " ")
        sentences.append(f"{name_of(line)}: {shown} (n = {line['n']:.0f})")
    return "; ".join(sentences) + "."


def cost_of(line, name, label, scale, form):
    """A median, and the range of its runs where they differ."""
    low, high = (form.format(line.get(f"{name}_{end}", line[name]) / scale) for end in ("min", "max"))
    range_of = f" ({low} to {high})" if low != high else ""
    return f"{form.format(line[name] / scale)}{range_of} {label}"
