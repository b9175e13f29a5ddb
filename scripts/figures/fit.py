"""Kept memory of cells and the prediction of `beyond-ram fit` from other cells, with intervals."""

from beyond_ram import figures
from beyond_ram.analysis.fit import coverage
from beyond_ram.figures import MB

SHOWN = {True: ("inside its interval", "#0072B2"), False: ("outside", "#D55E00")}


def plot(fit):
    predicted = fit[fit["inside"].notna()] if "inside" in fit else fit.head(0)
    if predicted.empty:
        return "no cell could be predicted from others: a model needs three sizes of input and two settings"
    names = predicted["loader"] if "loader" in predicted else predicted["stack"]
    if "loader" in predicted:
        names = names.fillna(predicted["stack"])
    groups = list(dict.fromkeys(names))
    figure, panels = figures.panels(len(groups), 2.5, 1, most_columns=3)
    for axes, name in zip(panels, groups, strict=True):
        mine = predicted[names == name]
        ends = [mine[["low", "kept_bytes"]].min().min() / MB, mine[["high", "kept_bytes"]].max().max() / MB]
        axes.plot(ends, ends, color="#999999", linewidth=0.8)
        for inside, (label, colour) in SHOWN.items():
            part = mine[mine["inside"].astype(bool) == inside]
            middle = part["predicted_bytes"]
            errors = [(middle - part["low"]) / MB, (part["high"] - middle) / MB]
            axes.errorbar(
                part["kept_bytes"] / MB, middle / MB, errors, fmt="o", markersize=3, linewidth=0.8,
                color=colour, label=label, alpha=figures.opacity(mine["n"].min()),
            )  # fmt: skip
        axes.set_title(f"{name}, {figures.counts(mine['n'])}")
    figure.supxlabel("kept memory, measured (MB)")
    figure.supylabel("predicted from other cells (MB)")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2, frameon=False)
    covered = coverage(fit)
    far = predicted["times_as_far"].max()
    caption = f"""
Kept memory of each cell, and the prediction of `beyond-ram fit` from other cells with inputs that are not larger, with
90 % intervals. {covered["inside"]} of {covered["predicted"]} readings lie in their interval; {
        covered["cells"] - covered["predicted"]
    } more cells have no prediction. The farthest
prediction is for {
        far:.2g} times the largest input of its model. If fewer than nine in ten lie inside, the intervals are too
narrow. {figures.counts(predicted["n"])}.
"""
    return figure, caption
