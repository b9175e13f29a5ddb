"""The share of a Parquet file that is new to Xet storage after each edit."""

import seaborn as sns

from beyond_ram import figures
from beyond_ram.analysis.dedup import FIRST
from beyond_ram.analysis.frame import axes as axes_of

CELL = ["compression", "cdc", "edit"]
COMPRESSIONS = ("none", "snappy", "zstd")


def plot(dedup):
    dedup = dedup[dedup["completed_work"].astype(bool)]
    if dedup.empty:
        return "no experiment of this config pushes edited tables"
    edited = dedup[dedup["edit"] != FIRST]
    panels = list(edited.groupby(["stack", "row_group_rows"], sort=False))
    panels.sort(key=lambda panel: (panel[0][0], -panel[0][1]))
    columns = len(edited[["compression", "cdc"]].drop_duplicates())
    width = min(3.2 + 0.75 * columns, figures.WIDE)
    figure, grid = figures.rows(len(panels), 3.4 * len(panels) + 0.6, width=width, sharex=True)
    for axes, ((stack, size), lines) in zip(grid[:, 0], panels, strict=True):
        shares = lines.pivot_table(
            index="edit", columns=["compression", "cdc"], values="new_share", aggfunc="median", sort=False
        )
        shares = shares[sorted(shares, key=lambda column: (COMPRESSIONS.index(column[0]), column[1]))]
        sns.heatmap(
            100 * shares, ax=axes, vmin=0, vmax=100, cmap="cividis_r", annot=True, fmt=".1f",
            linewidths=0.5, cbar=False,
        )  # fmt: skip
        axes.set_xticklabels([f"{compression}\n{cdc}" for compression, cdc in shares], rotation=0)
        whole = lines["edited_rows"].max() <= size
        groups = "one row group" if whole else f"row groups of {size:,} rows"
        axes.set_title(f"{stack}, {groups}, n = {figures.span(lines.groupby(CELL).size())}")
        axes.set(xlabel="", ylabel="")
        axes.tick_params(axis="y", rotation=0)
    figure.colorbar(grid[0][0].collections[0], ax=list(grid[:, 0]), label="new bytes (% of the file)")
    figure.supxlabel("compression, and content-defined chunking off or on")
    return figure, caption_of(dedup, edited)


def caption_of(dedup, edited):
    first = dedup[dedup["edit"] == FIRST].iloc[0]
    keys = [*axes_of(edited), "edit"]
    repeated = edited.groupby([key for key in keys if key in edited])["new_bytes"]
    counts, spread = repeated.size(), (repeated.max() - repeated.min()).max()
    sides = [dedup[dedup["cdc"] == cdc] for cdc in ("off", "on")]
    both = ""
    if all(map(len, sides)):
        sizes = sides[1]["parquet_bytes"].sum() / sides[0]["parquet_bytes"].sum()
        paid = "; ".join(writer(name, lines) for name, lines in dedup.groupby("compression"))
        both = f"CPU time of the writer with chunking over without, all writes of a run together: {paid}. "
        both += f"Files: {sizes:.3f} times."
    again = "" if counts.max() < 2 else f" Repeats differ by {spread:,.0f} bytes at most."
    return f"""
A table of {first["table_bytes"] / figures.MB:,.0f} MB in {first["edited_rows"]:,} rows, written as Parquet, edited,
written again, and pushed to storage that holds only the first version. Shown is the share of the new file that
storage had not yet, as hf_xet itself counts it. Delete, insert and update touch 100 rows, append adds one row in a
hundred. {both}
n = {counts.min()} a cell.{again} Chunking helps where `on` has a smaller share than `off` beside it.
"""


def writer(compression, lines):
    # Writes of one run are not repeats of each other.
    off, on = (lines[lines["cdc"] == cdc].groupby("rep")["file_write_cpu_s"].sum() for cdc in ("off", "on"))
    return f"{compression} {on.mean() / off.mean():.2f} times (n = {min(len(off), len(on))}, not decided)"
