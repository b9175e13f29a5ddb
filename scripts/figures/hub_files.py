"""What a sample out of a tar, or a frame out of a video, costs through HfFileSystem."""

import matplotlib.pyplot as plt
import seaborn as sns

from beyond_ram import figures

PANELS = {
    "requests_per_sample": ("requests per sample", 1, "{:.3g}"),
    "bytes_per_sample": ("received per sample (kB)", 1e-3, "{:,.0f}"),
    "s_per_sample": ("time per sample (ms)", 1e3, "{:,.3g}"),
}


def plot(hub_files):
    read = hub_files[(hub_files["outcome"] == "completed") & hub_files["requests"].notna()]
    return figures.drawn(read, draw, "no experiment of this config reads files of a Hub")


def setting(row, stacks):
    """How the files were opened, in words."""
    if row["opener"] == "curl":
        how = "curl"
    else:
        how = f"blocks of {row['block_kb']:,} KiB" if row["block_kb"] else "one request a file"
    more = [f"{row['bandwidth_mb_per_s']:g} MB/s"] if row["bandwidth_mb_per_s"] else []
    more += ["redirected"] if row["redirect"] == "yes" else []
    more += [row["stack"]] if stacks > 1 else []
    return f"{row['repository']}: " + ", ".join([how, *more])


def draw(read):
    read = read.sort_values(["repository", "opener", "block_kb"], kind="stable")
    read = read.assign(setting=[setting(row, read["stack"].nunique()) for row in read.to_dict("records")])
    read["latency"] = read["latency_ms"].map("{:g} ms".format)
    order = list(dict.fromkeys(read["setting"]))
    latencies = [f"{value:g} ms" for value in sorted(read["latency_ms"].unique())]
    figure, grid = plt.subplots(
        1, 3, figsize=(13, 1.8 + (0.25 + 0.25 * len(latencies)) * len(order)), sharey=True, layout="constrained"
    )
    for axes, (column, (label, scale, form)) in zip(grid, PANELS.items(), strict=True):
        shown = read.assign(value=read[column] * scale)
        sns.barplot(
            shown, x="value", y="setting", hue="latency", order=order, hue_order=latencies, estimator="median",
            errorbar=("pi", 100), capsize=0.2, palette="colorblind", ax=axes, legend=axes is grid[0],
        )  # fmt: skip
        label_bars(axes, shown, order, latencies, form)
        axes.set_xscale("log")
        low, high = shown["value"].min(), shown["value"].max()
        axes.set_xlim(low / 3, high * 5)
        axes.set_xlabel(label)
        axes.set_ylabel("")
    figure.get_layout_engine().set(wspace=0.08)  # numbers at the ends of two neighbouring axes
    handles, labels = grid[0].get_legend_handles_labels()
    grid[0].get_legend().remove()
    if len(latencies) > 1:
        figure.legend(handles, labels, title="latency", loc="outside lower center", ncols=len(latencies), fontsize=9)
    return figure, caption_of(read)


def label_bars(axes, shown, order, latencies, form):
    """Each bar's median, behind its whisker."""
    for (setting_, latency), values in shown.groupby(["setting", "latency"])["value"]:
        place = order.index(setting_) + 0.8 * ((latencies.index(latency) + 0.5) / len(latencies) - 0.5)
        axes.annotate(
            form.format(values.median()),
            (values.max(), place),
            xytext=(5, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
        )


def caption_of(read):
    counts = read.groupby(["setting", "latency"]).size()
    same = read.groupby(["setting", "latency", "samples"])["requests"].nunique().max() == 1
    said = []
    for repository, lines in read.groupby("repository", sort=False):
        by = lines.groupby("setting")["bytes_per_sample"].median()
        least, most = by.idxmin(), by.idxmax()
        said.append(
            f"{repository}: from {by[least] / 1e3:,.0f} kB a sample ({least.partition(': ')[2]}) to "
            f"{by[most] / 1e3:,.0f} kB ({most.partition(': ')[2]})"
            if by[most] > 1.05 * by[least]
            else f"{repository}: {by[least] / 1e3:,.0f} kB a sample in every setting"
        )
    latencies = [f"{value:g} ms" for value in sorted(read["latency_ms"].unique())]
    return f"""
Samples read from a local Hub endpoint through HfFileSystem: of tars all members in turn, by WebDataset; of a video
frames in random order, by PyAV; latency {" or ".join(latencies)}. 5,120 KiB is what HfFileSystem reads at once by
itself. Received per sample, listing included: {"; ".join(said)}. Every sample carried its number and was checked.
Medians and whole ranges, n = {counts.min()} a bar; requests of repeats {"are the same" if same else "differ"}. Bars of
one repository that reach equally far would show that the size of a block does not matter.
"""
