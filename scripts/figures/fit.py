"""Predictions of `beyond-ram fit` from smaller inputs, one row a setting, and what the setting kept when it ran."""

from beyond_ram import figures
from beyond_ram.analysis.fit import coverage
from beyond_ram.figures import MB

INSIDE, OUTSIDE, NOT_RUN = "#0072B2", "#D55E00", "#777777"
KEPT = "#222222"


def plot(fit):
    predicted = fit[fit["predicted_bytes"].notna()] if "predicted_bytes" in fit else fit.head(0)
    if predicted.empty:
        return "no cell could be predicted: a model needs three smaller sizes of input and two settings"
    labels = figures.cell_labels(predicted)
    figure, (axes,) = figures.panels(1, 0.48 * len(predicted) + 0.8, 0)
    for place, line in enumerate(predicted.to_dict("records")):
        colour = NOT_RUN if line["n"] == 0 else INSIDE if line["inside"] else OUTSIDE
        low, middle, high = (line[name] / MB for name in ("low", "predicted_bytes", "high"))
        axes.plot([low, high], [place, place], color=colour, linewidth=5, alpha=0.4, solid_capstyle="butt")
        axes.plot(middle, place, "|", color=colour, markersize=9, markeredgewidth=2)
        axes.plot(line["kept_bytes"] / MB, place, "o", color=KEPT, markersize=5, alpha=figures.opacity(line["n"]))
    axes.set_yticks(range(len(predicted)), [figures.fill(label, 4) for label in labels])
    axes.set_ylim(len(predicted) - 0.5, -0.5)
    axes.set_xlim(0, 1.05 * predicted[["high", "kept_bytes"]].max().max() / MB)
    axes.set_xlabel("kept memory (MB)")
    figure.legend(handles=handles(predicted), loc="outside upper center", ncols=2, frameon=False)
    return figure, caption(fit, predicted)


def handles(predicted):
    """The entries of the legend: the reading, and the kinds of prediction that are drawn."""
    ran = predicted[predicted["n"] > 0]
    inside = ran["inside"].astype(bool)
    drawn = {
        ("predicted: the reading is inside", INSIDE): inside.any(),
        ("predicted: the reading is outside", OUTSIDE): (~inside).any(),
        ("predicted: not run", NOT_RUN): len(ran) < len(predicted),
    }
    kept = figures.handle("measured", linestyle="", marker="o", color=KEPT)
    return [kept] + [figures.handle(name, color=colour, linewidth=5) for (name, colour), any_ in drawn.items() if any_]


def caption(fit, predicted):
    covered, far = coverage(fit), predicted["times_as_far"].max()
    return f"""
Kept memory that `beyond-ram fit` predicts from the cells with smaller inputs, with 90 % intervals, and the median of
the runs. {covered["inside"]} of {covered["predicted"]} readings lie in their interval; {
        covered["cells"] - covered["predicted"]
    } more cells have no prediction. An input is up to {far:.2g} times
the largest that its prediction is made from. If fewer than nine in ten lie inside, the intervals are too narrow.
{figures.counts(predicted["n"])}.
"""
