"""A metric over the versions of one package, with the steps named."""

import seaborn as sns

from beyond_ram import figures
from beyond_ram.analysis.ladders import effect_in_words
from beyond_ram.metrics import METRICS


def plot(ladders):
    if ladders.empty:
        return "this config has no version ladder"
    if ladders["to_version"].isna().all():
        return f"no two versions have a value; {ladders['infeasible'].iloc[0][:90]} …"
    installed = ladders[ladders["to_version"].notna()].assign(
        moved=lambda steps: steps["moved"].astype("object").fillna("")
    )
    panels = list(installed.groupby(["ladder", "stack"], sort=False))
    figure, grid = figures.rows(len(panels), 3.3 * len(panels))
    sentences = []
    colour, loud = sns.color_palette("colorblind", 4)[0], sns.color_palette("colorblind", 4)[3]
    for axes, ((name, stack), steps) in zip(grid[:, 0], panels, strict=True):
        metric = METRICS[steps["metric"].iloc[0]]
        unit, scale = ("MB", figures.MB) if metric.unit == "bytes" else (metric.unit, 1)
        versions = [*steps["from_version"], steps["to_version"].iloc[-1]]
        values = [value / scale for value in [*steps["from_value"], steps["to_value"].iloc[-1]]]
        places = range(len(versions))
        axes.plot(places, values, "o-", color=colour, markersize=8, markerfacecolor="none", linewidth=1.2)
        top, told = max(values), 0
        for place, step in enumerate(steps.to_dict("records")):
            if not step["significant"]:
                continue
            first, second = step["from_value"] / scale, step["to_value"] / scale
            axes.plot([place, place + 1], [first, second], "o-", color=loud, linewidth=3, markersize=8)
            said = f"{step['from_version']} to {step['to_version']}: {first:,.0f} to {second:,.0f} {unit}"
            axes.annotate(
                said,
                (place + 0.5, max(first, second)),
                xytext=(0, 10 + 14 * (told % 2)),  # two beside each other would hide each other
                textcoords="offset points",
                ha="center",
                color=loud,
                weight="bold",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
            )
            told += 1
            effect = effect_in_words(step, unit, scale)
            sure = f", {effect}" if effect else ""
            near = "neighbouring releases" if step["neighbours"] else "other releases lie between"
            besides = f"; with it moved {step['moved']}" if step["moved"] else ""
            sentences.append(f"{step['factor']} on {stack}, {said}{sure}, n = {step['n']}, {near}{besides}")
        axes.set_xticks(places, versions)
        axes.set_ylim(min(-0.04 * top, *values), 1.35 * top)
        axes.set_xlim(-0.3, len(versions) - 0.3)
        axes.set(
            title=f"{name}: {stack}, {figures.counts(steps['n'].astype(int))} a version",
            xlabel=f"{steps['factor'].iloc[0]}, {else_locked(steps)}",
        )
        label = f"{metric.label} ({unit})" if unit not in metric.label.lower() else metric.label
        axes.set_ylabel(figures.fill(label, axes.get_position().height * figure.get_figheight()))
    for stack, lines in ladders[ladders["infeasible"].astype("object").fillna("") != ""].groupby("stack", sort=False):
        cannot = dict.fromkeys(f"{line['factor']} {line['infeasible']}" for line in lines.to_dict("records"))
        sentences.append(f"Without a value, all else as near to {stack} as can be: {'; '.join(cannot)}")
    caption = f"""
One package over its releases, everything else as the stack's lock says, or as near to it as a version can be
installed; medians of the runs. Strong colour is only for steps that were shown. Where a step is larger than noise the
releases between are bisected until its two sides are neighbours.
{". ".join(sentences) or "No step is larger than noise"}.
"""
    return figure, caption


def else_locked(steps):
    """What holds for all other packages."""
    moved = dict.fromkeys(move.split()[0] for said in steps["moved"] for move in said.split(", ") if move)
    return f"all else locked but for {', '.join(moved)}" if moved else "all else locked"
