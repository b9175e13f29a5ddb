"""Findings on pushing edited tables, on samples through HfFileSystem, and on Spark."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from ..dedup import against
from ..frame import same_but_for
from ..matters import SHARE
from .base import Finding, Source, Tables, as_factor, reads


@reads("dedup")
def _dedup(tables: Tables) -> Iterator[Finding]:
    """What cutting pages by content saves when a table is edited and pushed again, and where it saves nothing."""
    for setting, shares in against(tables["dedup"]):
        saved = (shares["on"] / shares["off"]).sort_values()
        best, idle = saved.index[0], saved.index[-1]
        groups = f"compression {setting['compression']}, row groups of {setting['row_group_rows']:,} rows"
        off, on = shares.loc[best, "off"], shares.loc[best, "on"]
        yield Finding(
            f"After {best}, {on:.1%} of the file's bytes are new with content-defined chunking, {off:.1%} without "
            f"({groups})"
            if saved[best] < 1 - SHARE
            else f"Content-defined chunking saves nothing with {groups}",
            f"Stack {setting['stack']}, new bytes by hf_xet before it compresses them, over all of the file's. "
            "From the edit that gains most to the one that gains least: "
            f"{', '.join(_share(shares, edit) for edit in saved.index)}."
            + (f" After {idle} it is no gain." if saved[idle] >= 1 else ""),
            "dedup",
            str(setting["experiment"]),
            as_factor(saved[best]),
        )


@reads("hub_files")
def _hub_files(tables: Tables) -> Iterator[Finding]:
    """What the size of HfFileSystem's blocks does to a sample's bytes, requests and time."""
    read = tables["hub_files"]
    read = read[(read["outcome"] == "completed") & read["bytes_per_sample"].notna() & (read["opener"] == "filesystem")]
    for cell, group in same_but_for(read, "block_kb"):
        blocks = {int(str(block)): lines.median(numeric_only=True) for block, lines in group.groupby("block_kb")}
        sizes = {block: float(line["bytes_per_sample"]) for block, line in blocks.items()}
        least, most = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
        if sizes[most] < (1 + SHARE) * sizes[least]:
            continue
        said = [
            f"{block:,} KiB: {line['bytes_per_sample'] / 1e3:,.0f} kB in {line['requests_per_sample']:.2f} requests "
            f"and {1e3 * line['s_per_sample']:,.0f} ms"
            for block, line in blocks.items()
        ]
        yield Finding(
            f"Blocks of {most:,} KiB receive {sizes[most] / sizes[least]:.1f} times the bytes of blocks of {least:,} "
            f"KiB ({cell['repository']}, latency {cell['latency_ms']} ms)",
            f"A sample through HfFileSystem, stack {cell['stack']}, n = {len(group) // len(blocks)}. "
            f"Blocks of {'; '.join(said)}.",
            "hub_files",
            str(cell["experiment"]),
            as_factor(sizes[most] / sizes[least]),
        )


@reads("spark")
def _spark(tables: Tables) -> Iterator[Finding]:
    """Steps of Spark's data source that do not work."""
    tried = tables["spark"]
    broken = tried[tried["works"].eq(False).fillna(False)]
    for keys, group in broken.groupby(["experiment", "pyspark_huggingface"], sort=False):
        first = group.iloc[0]
        yield Finding(
            f"pyspark_huggingface {keys[1]} cannot {' and '.join(dict.fromkeys(group['step']))}",
            f"With pyspark {first['pyspark']} and huggingface_hub {first['huggingface_hub']}, against the local "
            f"endpoint: {'; '.join(dict.fromkeys(group['reason']))}.",
            "spark",
            str(keys[0]),
            2.0,
        )


def _share(shares: pd.DataFrame, edit: Any) -> str:
    return f"{edit} {shares.loc[edit, 'off']:.1%} without, {shares.loc[edit, 'on']:.1%} with"


SOURCES: tuple[Source, ...] = (_dedup, _hub_files, _spark)
