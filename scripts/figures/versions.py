"""A metric over the versions of one package, with its repeats and the confirmed steps."""

import seaborn as sns

from beyond_ram import figures
from beyond_ram.metrics import METRICS

# Height of the labels of steps at the top, so that neighbouring labels do not overlap.
LABEL_POINTS = 14
CONFIRMED = ("better", "worse")


def plot(ladders):
    if ladders.empty:
        return "this config has no version ladder"
    if ladders["to_version"].isna().all():
        return f"no two versions have a value; {ladders['infeasible'].iloc[0][:90]} …"
    installed = ladders[ladders["to_version"].notna()].assign(
        moved=lambda steps: steps["moved"].astype("object").fillna(""),
        whole=lambda steps: steps["whole"].eq(True) if "whole" in steps else False,
    )
    panels = list(installed.groupby(["ladder", "stack", "metric"], sort=False))
    figure, grid = figures.rows(len(panels), 3.1 * len(panels), width=figures.ANSWER)
    sentences = []
    for axes, ((name, stack, key), steps) in zip(grid[:, 0], panels, strict=True):
        metric = METRICS[key]
        unit, scale = ("MB", figures.MB) if metric.unit == "bytes" else (metric.unit, 1)
        draw_versions(axes, steps[~steps["whole"]], scale)
        sentences += draw_steps(axes, steps[steps["result"].isin(CONFIRMED)], unit, scale)
        axes.set_title(f"{name}: {stack}, {figures.counts(steps['n'].astype(int))} a version")
        axes.set_xlabel(steps["factor"].iloc[0])
        label = f"{metric.label} ({unit})" if unit not in metric.label.lower() else metric.label
        axes.set_ylabel(figures.fill(label, axes.get_position().height * figure.get_figheight()))
    for stack, lines in ladders[ladders["infeasible"].astype("object").fillna("") != ""].groupby("stack", sort=False):
        reasons = dict.fromkeys(f"{line['factor']} {line['infeasible']}" for line in lines.to_dict("records"))
        sentences.append(f"Without a value, as near to {stack} as possible: {'; '.join(reasons)}")
    caption = f"""
{answer(installed[installed["result"].isin(CONFIRMED)])}

One package in several releases. All other packages are locked; a step names those that its releases force to move.
Marks are medians of the runs, whiskers their minimum and maximum. Orange steps are confirmed by further runs of both
sides in turn.
{"".join(f"{sentence}. " for sentence in sentences)}
"""
    return figure, caption


def answer(steps):
    """The confirmed steps of each metric in the order of its releases; the metric with the largest step first."""
    if steps.empty:
        return "No step between two releases is confirmed."
    sizes = (steps["to_value"] - steps["from_value"]).abs()
    metrics = sorted(steps.groupby("metric", sort=False), key=lambda one: sizes[one[1].index].max(), reverse=True)
    return " ".join(f"{METRICS[metric].label}{where(group)}: {'; '.join(map(short, group.to_dict('records')))}."
                    for metric, group in metrics)  # fmt: skip


def where(group):
    """The stacks, and what they tokenised; nothing where a table has neither."""
    first = group.iloc[0]
    files = f"{first['num_files']:.0f} files of " if first.get("num_files", 0) > 1 else ""
    text = [f"{files}{first['corpus']}"] if isinstance(first.get("corpus"), str) else []
    return f" ({', '.join([*dict.fromkeys(group['stack']), *text])})"


def short(step):
    unit, scale = ("MB", figures.MB) if METRICS[step["metric"]].unit == "bytes" else (METRICS[step["metric"]].unit, 1)
    before, after = step["from_value"] / scale, step["to_value"] / scale
    moved = "rose" if after > before else "fell"
    values = f"{moved} from {value(before)} to {value(after)} {unit}"
    return f"{values} with {step['factor']} {step['to_version']} (n = {step['n']})"


def value(number):
    """Two digits, and all of a whole number, so that the end of one step is the beginning of the next."""
    return f"{number:,.0f}" if abs(number) >= 10 else figures.two_digits(number)


def draw_versions(axes, steps, scale):
    """Draw the median and range of each version."""
    ends = [(line, "from") for line in steps.to_dict("records")]
    ends.append((ends[-1][0], "to"))
    values = [line[f"{end}_value"] / scale for line, end in ends]
    lows, highs = ([line[f"{end}_value_{name}"] / scale for line, end in ends] for name in ("min", "max"))
    spread = [
        [value - low for value, low in zip(values, lows, strict=True)],
        [high - value for value, high in zip(values, highs, strict=True)],
    ]
    places, colour = range(len(values)), sns.color_palette("colorblind", 4)[0]
    axes.plot(places, values, color=colour, linewidth=1.2, zorder=1)
    style = {"markersize": 8, "markerfacecolor": "white", "linewidth": 1.2, "capsize": 5}
    axes.errorbar(places, values, yerr=spread, fmt="o", color=colour, zorder=3, **style)
    versions = [line[f"{end}_version"] for line, end in ends]
    axes.set_xticks(places, versions, rotation=45, ha="right", rotation_mode="anchor")
    top = max([*values, *highs])
    axes.set_ylim(min(-0.04 * top, *values), 1.6 * top)
    axes.set_xlim(-0.3, len(values) - 0.7)


def draw_steps(axes, steps, unit, scale):
    """Draw the confirmed steps over the versions, and return what else is true of them."""
    versions = [label.get_text() for label in axes.get_xticklabels()]
    colour, sentences = sns.color_palette("colorblind", 4)[3], []
    for number, step in enumerate(steps.to_dict("records")):
        place, end = (versions.index(step[f"{side}_version"]) for side in ("from", "to"))
        before, after = step["from_value"] / scale, step["to_value"] / scale
        axes.plot([place, end], [before, after], color=colour, linewidth=3, zorder=2)
        values = f"{value(before)} to {value(after)} {unit}"
        side = "left" if place + end < len(versions) / 2 else "right" if place + end > 1.5 * len(versions) else "center"
        axes.annotate(
            values, ((place + end) / 2, axes.get_ylim()[1]), xytext=(0, -LABEL_POINTS * (1 + number % 3)),
            textcoords="offset points", ha=side, color=colour, weight="bold",
        )  # fmt: skip
        sentences += beside(step, f"{step['factor']} {step['from_version']} to {step['to_version']}")
    return sentences


def beside(step, text):
    """What else is true of a step: other packages moved with it, or releases lie between."""
    moved = [f"with it moved {step['moved']}"] if step["moved"] else []
    between = [] if step["neighbours"] else ["other releases lie between"]
    return [f"{METRICS[step['metric']].label}, {text}: {', '.join(moved + between)}"] if moved or between else []
