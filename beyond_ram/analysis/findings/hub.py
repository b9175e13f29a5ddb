"""Findings on pushing edited tables, and on Spark."""

from collections.abc import Iterator
from typing import Any

from ..decide import largest
from ..dedup import saved
from ..outcomes import tally
from ..spark import tried
from .finding import Advice, Bar, Finding, Scope, Source, Tables, lines_of, reads, tries


@reads("dedup")
def _chunking(tables: Tables) -> Iterator[Finding]:
    """The new bytes that content-defined chunking saves when an edited table is pushed again."""
    for setting, edits in saved(tables["dedup"]):
        if not edits:
            continue
        saving = [edit for edit, (_, one) in edits.items() if one.confirmed and one.result != "same" and one.ratio > 1]
        ranked = saving or [*edits]
        best, _ = largest(ranked, [edits[edit][1].ratio for edit in ranked])
        shares, most = edits[best]
        own = {"experiment": setting["experiment"], "stack": setting["stack"]}
        yield Finding(
            kind="chunking",
            subject=f"compression {setting['compression']}, row groups of {setting['row_group_rows']:,} rows",
            scope=Scope(str(setting["experiment"]), (f"stack {setting['stack']}",), len(saving), len(edits)),
            advice=Advice("use", ("content-defined chunking",), conditions=tuple(saving)) if saving else None,
            facts={
                "best": best,
                "edits": {
                    edit: {**of[["off", "on"]], "measured": one.ratio, "low": one.low, "high": one.high, "n": one.n}
                    for edit, (of, one) in edits.items()
                },
                "decidable": any(one.n > 1 for _, one in edits.values()),
            },
            strength=max(1.0, most.corrected_ends[0]) if saving else 0.0,
            figure="dedup",
            bars=(_new_bytes("without", shares["off"]), _new_bytes("with chunking", shares["on"])),
            seen=(own,),
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
