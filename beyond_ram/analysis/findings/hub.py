"""Findings on pushing edited tables, and on Spark."""

from collections.abc import Iterator
from typing import Any

from ..claims import CHUNKED
from ..decide import largest
from ..dedup import against, described
from ..outcomes import tally
from ..spark import tried
from .finding import Advice, Bar, Finding, Scope, Source, Tables, lines_of, reads, tries


@reads("dedup", "claims")
def _chunking(tables: Tables) -> Iterator[Finding]:
    """The new bytes that content-defined chunking saves when an edited table is pushed again."""
    claims = tables["claims"]
    claims = claims[claims["claim"] == CHUNKED]
    for setting, shares in against(tables["dedup"]):
        same = claims[claims["experiment"].eq(setting["experiment"]) & claims["stack"].eq(setting["stack"])]
        by_conditions = {str(line["conditions"]): line for line in lines_of(same)}
        conditions = {str(edit): described(setting, str(edit)) for edit in shares.index}
        lines = {edit: by_conditions[words] for edit, words in conditions.items() if words in by_conditions}
        if not lines:
            continue
        saving = {edit: line for edit, line in lines.items() if line["holds"] in ("yes", "partly")}
        ranked = saving or lines
        best, _ = largest(list(ranked), [float(line["measured"]) for line in ranked.values()])
        yield Finding(
            kind="chunking",
            subject=f"compression {setting['compression']}, row groups of {setting['row_group_rows']:,} rows",
            scope=Scope(str(setting["experiment"]), (f"stack {setting['stack']}",), len(saving), len(lines)),
            advice=Advice("use", ("content-defined chunking",), conditions=tuple(saving)) if saving else None,
            facts={
                "best": best,
                "edits": {
                    edit: {"off": shares["off"][edit], "on": shares["on"][edit], **line} for edit, line in lines.items()
                },
                "decidable": any(line["n"] > 1 for line in lines.values()),
            },
            strength=max(1.0, float(saving[best]["low_corrected"])) if saving else 0.0,
            figure="dedup",
            bars=(_new_bytes("without", shares.loc[best, "off"]), _new_bytes("with chunking", shares.loc[best, "on"])),
            seen=tuple(lines.values()),
        )


@reads("spark")
def _spark(tables: Tables) -> Iterator[Finding]:
    """Steps of Spark's data source that fail, in runs that ended."""
    for keys, group in tables["spark"].groupby(["experiment", "pyspark_huggingface"], sort=False):
        steps = tried(group)
        works = {str(step): lines["works"].astype(bool) for step, lines in steps.groupby("step", sort=False)}
        broken = {step: (int((~runs).sum()), len(runs)) for step, runs in works.items() if not runs.all()}
        if not broken:
            continue
        first = lines_of(group)[0]
        yield Finding(
            kind="spark",
            subject=f"pyspark_huggingface {keys[1]}",
            scope=Scope(str(keys[0]), failed=int(tally(group.drop_duplicates("rep"))["failed"])),
            facts={
                "broken": broken,
                "works": {step: len(runs) for step, runs in works.items() if runs.all()},
                "reasons": tuple(dict.fromkeys(steps.loc[~steps["works"].astype(bool), "reason"])),
                "pyspark": str(first["pyspark"]),
                "huggingface_hub": str(first["huggingface_hub"]),
            },
            strength=max(tries(failures, runs) for failures, runs in broken.values()),
            figure="spark",
        )


def _new_bytes(label: str, share: Any) -> Bar:
    return Bar(label, float(share), f"{float(share):.1%} new bytes")


SOURCES: tuple[Source, ...] = (_chunking, _spark)
