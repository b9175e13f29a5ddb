"""The compared metrics that scripts report: a panel for each, a line for each cell, a colour for each side."""

from beyond_ram import figures
from beyond_ram.analysis.frame import describe, varied


def plot(reported):
    table = reported[reported["better"] != "neither"]
    if table.empty:
        return "no script of this config reports a number that can be better"
    ways = [axis for axis in varied(table) if axis not in ("experiment", "side")]
    names = table["script"] if not ways else [", ".join(describe(line, ways)) for line in table.to_dict("records")]
    table = table.assign(name=names)
    panels = list(table.groupby(["script", "metric", "unit", "better"], sort=False))
    sides = list(dict.fromkeys(table["side"]))
    colours = figures.colours(sides)
    height = 0.9 + 0.3 * max(lines["name"].nunique() for _, lines in panels)
    figure, grid = figures.panels(len(panels), height)
    for axes, ((script, metric, unit, better), lines) in zip(grid, panels, strict=True):
        cells = list(dict.fromkeys(lines["name"]))
        for line in lines.to_dict("records"):
            place = cells.index(line["name"]) + 0.6 * ((sides.index(line["side"]) + 0.5) / len(sides) - 0.5)
            low, high = (line["mean"] if line[end] != line[end] else line[end] for end in ("low", "high"))
            figures.ranged(axes, place, low, line["mean"], high, colours[line["side"]], line["n"])
        axes.set_title(figures.fill(f"{script}: {metric}", 3))
        if lines["mean"].min() >= 0:
            axes.set_xlim(left=0)
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
