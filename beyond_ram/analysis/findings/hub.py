"""Findings on pushing edited tables, and on Spark. What blocks of HfFileSystem do, table `comparisons` decides."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from ..claims import CHUNKED
from ..decide import selected
from ..dedup import against, described
from ..outcomes import tally
from ..spark import tried
from .base import Bar, Finding, Line, Source, Tables, failures, lines_of, reads, tries

_SHOWN = ("holds", "partly")


@reads("dedup", "claims")
def _dedup(tables: Tables) -> Iterator[Finding]:
    """What cutting pages by content saves when a table is edited and pushed again, as table `claims` decides it."""
    claims = tables["claims"]
    claims = claims[claims["claim"] == CHUNKED]
    for setting, shares in against(tables["dedup"]):
        same = claims[claims["experiment"].eq(setting["experiment"]) & claims["stack"].eq(setting["stack"])]
        by_words = {str(line["conditions"]): line for line in lines_of(same)}
        words = {str(edit): described(setting, str(edit)) for edit in shares.index}
        lines = {edit: by_words[said] for edit, said in words.items() if said in by_words}
        if not lines:
            continue
        shown = {edit: line for edit, line in lines.items() if line["holds"] in _SHOWN}
        groups = f"compression {setting['compression']}, row groups of {setting['row_group_rows']:,} rows"
        best, which = selected(list(lines), [float(line["measured"]) for line in lines.values()])
        if shown:
            best, which = selected(list(shown), [float(line["measured"]) for line in shown.values()])
            which = f"largest of {len(lines)} edits run here"
            said = f"after {best} {_times(lines[best])} fewer new bytes"
        elif all(line["holds"] == "not enough data" for line in lines.values()):
            said = "too few repeats to tell what it saves"
        else:
            said = "not shown to save new bytes after any edit"
        yield Finding(
            f"Content-defined chunking, {groups}: {said}",
            f"Stack {setting['stack']}. Bytes that storage had not, as hf_xet counts them before it compresses them, "
            f"over all of the file's, without chunking and with it, and how many times fewer bytes that is: "
            f"{'; '.join(_share(shares, edit, line) for edit, line in lines.items())}. "
            f"Shown to save: {', '.join(shown) or 'none'}. The largest ratio is that of {best} ({which}).",
            "dedup",
            str(setting["experiment"]),
            max(1.0, float(shown[best]["low_corrected"])) if shown else 0.0,
            action=f"Write with content-defined chunking where you will edit so: {', '.join(shown)}." if shown else "",
            bars=(_new_bytes("without", shares.loc[best, "off"]), _new_bytes("with chunking", shares.loc[best, "on"])),
            seen=tuple(lines.values()),
        )


@reads("spark")
def _spark(tables: Tables) -> Iterator[Finding]:
    """Steps of Spark's data source that fail, in runs that came to their end."""
    for keys, group in tables["spark"].groupby(["experiment", "pyspark_huggingface"], sort=False):
        steps = tried(group)
        runs = {str(step): lines["works"].astype(bool) for step, lines in steps.groupby("step", sort=False)}
        broken = {step: works for step, works in runs.items() if not works.all()}
        if not broken:
            continue
        first = lines_of(group)[0]
        said = [f"{step} fails in {(~works).sum()} of {len(works)} runs" for step, works in broken.items()]
        works = [f"{step} (n = {len(done)})" for step, done in runs.items() if done.all()]
        reasons = dict.fromkeys(steps.loc[~steps["works"].astype(bool), "reason"])
        yield Finding(
            f"pyspark_huggingface {keys[1]}: {', '.join(said)}".replace(" 1 of 1 runs", " 1 of 1 run"),
            f"With pyspark {first['pyspark']} and huggingface_hub {first['huggingface_hub']}, against the local "
            f"endpoint: {'; '.join(reasons)}. Works: {', '.join(works) or 'none'}."
            f"{failures(tally(group.drop_duplicates('rep')))}",
            "spark",
            str(keys[0]),
            max(tries(int((~works).sum()), len(works)) for works in broken.values()),
        )


def _new_bytes(label: str, share: Any) -> Bar:
    return Bar(label, float(share), f"{float(share):.1%} new bytes")


def _times(line: Line) -> str:
    return f"{line['measured']:,.1f} times"


def _share(shares: pd.DataFrame, edit: Any, line: Line) -> str:
    ends = f"95 % {line['low']:,.2f} to {line['high']:,.2f}, " if line["low"] < line["high"] else ""
    return (
        f"{edit} {shares.loc[edit, 'off']:.1%} and {shares.loc[edit, 'on']:.1%} ({line['measured']:,.2f} times, {ends}"
        f"n = {line['n']:.0f})"
    )


SOURCES: tuple[Source, ...] = (_dedup, _spark)
