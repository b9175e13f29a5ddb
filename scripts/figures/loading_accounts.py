"""Delivery of rows: a strip per loader."""

import matplotlib.pyplot as plt

from beyond_ram.analysis.loaders import by_way

# In the order of the legend.
STATES = {
    "once": ("every row once", "#009E73"),
    "unnumbered": ("rows carry no numbers", "#56B4E9"),
    "wrong": ("rows missing, twice or wrong", "#D55E00"),
    "failed": ("gave up, or not done in time", "#B22222"),
    "not applicable": ("not applicable", "#dddddd"),
    "limit": ("killed at its memory limit", "#7A5195"),
}
WORST_LAST = ["not applicable", "once", "unnumbered", "limit", "wrong", "failed"]
OUTCOMES = {"not_applicable": "not applicable", "killed_at_limit": "limit"}
ACCOUNTS = {
    "every row once": "once",
    "as many rows as expected": "unnumbered",
    "rows not numbered": "unnumbered",
}


def state(line):
    if line["outcome"] != "completed":
        return OUTCOMES.get(line["outcome"], "failed")
    return ACCOUNTS.get(line["account"], "wrong")


def plot(loaders):
    loaders = by_way(loaders[loaders["account"].notna()]) if "account" in loaders else loaders.head(0)
    if loaders.empty:
        return "no experiment of this config loads token datasets"
    loaders = loaders.assign(state=loaders.apply(state, axis=1), column=loaders.apply(column, axis=1))
    columns, names = list(dict.fromkeys(loaders["column"])), list(dict.fromkeys(loaders["loader"]))
    size = (max(0.55 * len(columns), 3) + 2.7, 0.34 * len(names) + 3.2)
    figure, axes = plt.subplots(figsize=size, layout="constrained")
    # If several cells share a place, the worst is shown.
    worst = loaders.assign(rank=loaders["state"].map(WORST_LAST.index))
    worst = worst.sort_values("rank").drop_duplicates(["loader", "column"], keep="last")
    for line in worst.to_dict("records"):
        x, y = columns.index(line["column"]), names.index(line["loader"])
        axes.add_patch(plt.Rectangle((x - 0.46, y - 0.42), 0.92, 0.84, color=STATES[line["state"]][1]))
        axes.annotate(f"{line['n']:.0f}", (x, y), ha="center", va="center", color="black")
    axes.set(xlim=(-0.6, len(columns) - 0.4), ylim=(len(names) - 0.4, -0.6))
    axes.set_xticks(range(len(columns)), columns, rotation=90)
    axes.set_yticks(range(len(names)), names)
    axes.grid(False)
    states = [STATES[name] for name in STATES if (worst["state"] == name).any()]
    handles = [plt.Rectangle((0, 0), 1, 1, color=colour, label=label) for label, colour in states]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False)
    faults = worst[worst["state"].isin(["wrong", "failed"])]
    accounts = "; ".join(
        f"{name}: {', '.join(dict.fromkeys(group['account']))}" for name, group in faults.groupby("loader", sort=False)
    )
    caption = f"""
Every delivered row contains its number and is checked as a whole: was each row delivered exactly once, in every epoch
of every run? Numbers are from finished runs; if several cells share a place, the worst is shown.
{accounts[:900] + "." if accounts else "All rows, by all loaders."} Blank: not run in this config.
"""
    return figure, caption


def column(line):
    words = [line["order"], f"{line['workers']:.0f} workers"]
    words += [line["start"]] if line["workers"] else []
    words += [f"memory limit {line['limit_percent']:.0f} %"] if line["limit_percent"] else []
    return ", ".join(words)
