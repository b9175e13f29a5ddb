"""Findings on Spark."""

from collections.abc import Iterator

from ..outcomes import tally
from ..spark import tried
from .finding import Finding, Scope, Source, Tables, lines_of, reads, tries


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


SOURCES: tuple[Source, ...] = (_spark,)
