"""The compared metrics that scripts report: a panel for each, a line for each cell, a colour for each side."""

from beyond_ram import figures
from beyond_ram.analysis.frame import describe, varied


def plot(reported):
    table = reported[reported["better"] != "neither"]
    if table.empty:
        return "no script of this config reports a number that can be better"
    panels = list(table.groupby(["script", "metric", "unit", "better"], sort=False))
    sides = list(dict.fromkeys(table["side"]))
    colours = figures.colours(sides)
    named = [lines.assign(name=names(lines)) for _, lines in panels]
    height = 0.9 + 0.3 * max(lines["name"].nunique() for lines in named)
    figure, grid = figures.panels(len(panels), height)
    for axes, ((script, metric, unit, better), _), lines in zip(grid, panels, named, strict=True):
        cells, own = (list(dict.fromkeys(lines[column])) for column in ("name", "side"))
        scale, unit = (figures.MB, "MB") if unit == "bytes" else (1, unit)
        for line in lines.to_dict("records"):
            place = cells.index(line["name"]) + 0.6 * ((own.index(line["side"]) + 0.5) / len(own) - 0.5)
            low, high = (line["mean" if line[end] != line[end] else end] / scale for end in ("low", "high"))
            figures.ranged(axes, place, low, line["mean"] / scale, high, colours[line["side"]], line["n"])
        axes.set_title(figures.fill(f"{script}: {metric}", 3))
        if lines["mean"].min() >= 0:
            axes.set_xlim(0, 1.1 * axes.get_xlim()[1])
        axes.set_xlabel(f"{unit}, {better} is better")
        axes.set_yticks(range(len(cells)), cells)
        axes.set_ylim(len(cells) - 0.5, -0.5)
    if len(sides) > 1:
        handles = [figures.handle(side, linestyle="", marker="o", color=colours[side]) for side in sides]
        figure.legend(handles=handles, loc="outside lower center", ncols=len(sides))
    return (
        figure,
        f"""
Numbers that scripts report themselves. Means with their 95 % intervals, {figures.counts(table["n"])}; hollow for one
run. Table `comparisons` decides which sides differ, table `reported` has all numbers.
""",
    )


def names(lines):
    """What distinguishes the cells of a panel, besides the side."""
    ways = [axis for axis in varied(lines) if axis not in ("experiment", "side")]
    return [", ".join(describe(line, ways)) for line in lines.to_dict("records")]
