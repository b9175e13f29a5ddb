"""Cost of a sample of a tar file, or of a frame of a video, through HfFileSystem."""

from beyond_ram import figures

PANELS = {
    "requests_per_sample": ("requests per sample", 1, "{:.3g}"),
    "bytes_per_sample": ("received per sample (kB)", 1e-3, "{:,.0f}"),
    "s_per_sample": ("time per sample (ms)", 1e3, "{:,.3g}"),
}


def plot(hub_files):
    read = hub_files[(hub_files["outcome"] == "completed") & hub_files["requests"].notna()]
    if read.empty:
        return "no experiment of this config reads files of a Hub"
    read = read.sort_values(["repository", "opener", "block_kb"], kind="stable")
    read = read.assign(setting=[setting(row, read["stack"].nunique()) for row in read.to_dict("records")])
    read["latency"] = read["latency_ms"].map("{:g} ms".format)
    order = list(dict.fromkeys(read["setting"]))
    latencies = [f"{value:g} ms" for value in sorted(read["latency_ms"].unique())]
    colours = figures.colours(latencies)
    height = 1.2 + 3 * (0.6 + (0.2 + 0.2 * len(latencies)) * len(order))
    figure, grid = figures.rows(3, height, sharey=True)
    for axes, (column, (label, scale, form)) in zip(grid[:, 0], PANELS.items(), strict=True):
        for (setting_, latency), runs in read.groupby(["setting", "latency"]):
            place = order.index(setting_) + 0.8 * ((latencies.index(latency) + 0.5) / len(latencies) - 0.5)
            values = runs[column] * scale
            low, middle, high = values.min(), values.median(), values.max()
            figures.ranged(axes, place, low, middle, high, colours[latency], len(values))
            text, box = f"{form.format(middle)}  (n = {len(values)})", {"facecolor": "white", "edgecolor": "none"}
            figures.beside(axes, text, (high, place), 9, bbox=box | {"pad": 1})
        axes.set_xscale("log")
        low, high = (read[column] * scale).agg(["min", "max"])
        axes.set_xlim(low / 3, high * 6)  # with room for the numbers
        axes.set_xlabel(label)
        axes.grid(visible=True, axis="y")
    grid[0][0].set_yticks(range(len(order)), order)
    grid[0][0].set_ylim(len(order) - 0.5, -0.5)
    if len(latencies) > 1:
        handles = [figures.handle(name, linestyle="", marker="o", color=colours[name]) for name in latencies]
        figure.legend(handles=handles, title="latency", loc="outside lower center", ncols=len(latencies))
    return figure, caption_of(read)


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


def caption_of(read):
    counts = read.groupby(["setting", "latency"]).size()
    requests = read.groupby(["setting", "latency", "samples"])["requests"]
    repeated = requests.nunique()[requests.size() > 1]
    same = f" Requests are the same in all repeats of {(repeated == 1).sum()} of {len(repeated)} repeated settings."
    latencies = [f"{value:g} ms" for value in sorted(read["latency_ms"].unique())]
    spread = "Medians, with lines from the lowest to the highest repeat" if counts.max() > 1 else "One run each"
    return f"""
Samples read from a local Hub endpoint through HfFileSystem. A repository holds tars, whose members WebDataset reads in
turn, or a video, whose frames PyAV reads in random order; latency {" or ".join(latencies)}. 5,120 KiB is what
HfFileSystem reads at once by itself. What is received has the listing of the repository in it. Every sample carried its
number and was checked. {spread} ({figures.counts(counts)}); hollow where there was one run.
{same if len(repeated) else ""} Times have the endpoint's work in them. Axes are logarithmic. Table
`comparisons` decides which block sizes differ. Where the dots of a repository lie in one line, the block size does not
matter.
"""
