"""The smallest memory limit of each cell, the memory request, and the readings of a run without a limit."""

import seaborn as sns

from beyond_ram import figures
from beyond_ram.analysis.frame import describe, varied
from beyond_ram.metrics.limits import PREDICTORS

MARKERS = "oD^v"
LIMIT, REQUEST = "#222222", "#CC3311"


def plot(limits):
    if limits.empty:
        return "no experiment of this config searches a limit"
    not_run = limits["not_run"].iloc[0]
    limits = limits.dropna(subset=["completed_at_bytes", "ended_at_bytes", "request_bytes"])
    if limits.empty:
        return not_run
    limits = limits.assign(cell=names_of(limits)).sort_values("completed_at_bytes")
    names = list(dict.fromkeys(limits["cell"]))
    colours = sns.color_palette("colorblind", len(PREDICTORS))
    figure, (axes,) = figures.panels(1, 1.5 * len(names) + 2.4, 0, width=figures.ANSWER)
    for place, name in enumerate(names):
        draw_cell(axes, place, limits[limits["cell"] == name], colours)
        text = label(limits[limits["cell"] == name])
        axes.annotate(text, (0, place - 0.5), xytext=(3, -3), textcoords="offset points", va="top")
    axes.set_yticks([])
    axes.grid(axis="y", visible=False)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(0, 1.05 * axes.get_xlim()[1])
    axes.set_xlabel("memory (MB)")
    figure.legend(handles=handles(colours), loc="outside lower center", ncols=1)
    return figure, caption(limits)


def names_of(limits):
    """Experiment and stack of each line, with the axes that vary."""
    axes = [axis for axis in varied(limits) if axis not in ("experiment", "stack")]
    lines = limits.to_dict("records")
    return [", ".join(dict.fromkeys([line["experiment"], line["stack"], *describe(line, axes)])) for line in lines]


def draw_cell(axes, place, lines, colours):
    """Draw limit and request in one row, and the readings in rows below."""
    for line in lines.to_dict("records"):
        ended, completed, request = (
            line[f"{name}_bytes"] / figures.MB for name in ("ended_at", "completed_at", "request")
        )
        axes.plot([ended, completed], [place - 0.13] * 2, color=LIMIT, linewidth=2, marker="|", markersize=12)
        axes.plot([request] * 2, [place - 0.2, place + 0.46], color=REQUEST, linewidth=2, linestyle="--")
        for number, reading in enumerate(PREDICTORS):
            x, y = line[f"peak_{reading}"] / figures.MB, place + 0.13 * number
            axes.plot(x, y, MARKERS[number], color=colours[number], markerfacecolor="none", markersize=8)
    axes.axhline(place + 0.5, color="0.8", linewidth=0.8)


def label(lines):
    """Name a cell with its limit and its request."""
    low, high = lines["ended_at_bytes"].min() / figures.MB, lines["completed_at_bytes"].max() / figures.MB
    numbers = f"limit {low:,.0f} to {high:,.0f} MB, request {lines['request_bytes'].max() / figures.MB:,.0f} MB"
    return f"{figures.fill(subject(lines.iloc[0]), 4)}\n{numbers} (n = {len(lines)})"


def handles(colours):
    """The entries of the legend."""
    readings = [
        figures.handle(label, linestyle="", marker=MARKERS[n], color=colours[n], markerfacecolor="none", markersize=8)
        for n, label in enumerate(PREDICTORS.values())
    ]
    label = "limit: too small at the left end, ran at the right"
    limit = figures.handle(label, color=LIMIT, linewidth=2, marker="|", markersize=12)
    return [*readings, limit, figures.handle("memory to request", color=REQUEST, linewidth=2, linestyle="--")]


def caption(limits):
    errors = limits[[*(f"error_{name.removesuffix('_bytes')}" for name in PREDICTORS), "error_ask"]]
    labels = [*PREDICTORS.values(), "the request"]
    ends = zip(labels, errors.min(), errors.max(), strict=True)
    words = "; ".join(f"{label} {' to '.join(dict.fromkeys([signed(low), signed(high)]))}" for label, low, high in ends)
    slower = " to ".join(dict.fromkeys(f"{limits['time_ratio'].agg(end):.2f}" for end in ("min", "max")))
    return f"""
{" ".join(answer(line) for line in limits.to_dict("records"))}

The smallest limit under which the work completes, by bisection with limits of the kernel
({figures.counts(limits.groupby("cell").size())}): the left end of the black line was too small, the right end
sufficed. The dashed line is what beyond-ram watch requests. Markers are readings of a run without a limit. Above
(+) or below (-) the smallest limit: {words}. At the limit the slowest run took {slower} times as long as the one
without.
"""


def answer(line):
    request, small, least = (line[f"{name}_bytes"] / figures.MB for name in ("request", "ended_at", "completed_at"))
    runs = int(line["completed_runs"])
    enough = f"enough ({signed(request / least - 1)})" if request >= least else "not enough"
    return (
        f"{subject(line)} completed with {least:,.0f} MB in {runs} of {runs} runs; "
        f"with {small:,.0f} MB it was {line['ended']} in {line['ended_runs']:.0f} of {line['ended_of_runs']:.0f}. "
        f"beyond-ram watch requests {request:,.0f} MB after a run without a limit: {enough}."
    )


def subject(line):
    """What a cell does, in words."""
    if not isinstance(line.get("corpus"), str):
        return line["cell"]
    files = "one file" if line["num_files"] == 1 else f"{line['num_files']:.0f} files"
    size = f" ({figures.two_digits(line['bytes_in'] / figures.MB)} MB)" if line.get("bytes_in", 0) > 0 else ""
    return f"Tokenising {files} of {line['corpus']}{size} with {line['stack']}"


def signed(share):
    return f"{share:+.0%}" if abs(share) >= 0.005 else "less than 1% off"
