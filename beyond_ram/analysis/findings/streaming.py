"""Findings on what streaming asks of a Hub."""

from collections.abc import Iterator

from .base import Finding, Line, Source, Tables, lines_of, reads, tries


@reads("streaming")
def _gave_up(tables: Tables) -> Iterator[Finding]:
    """Clients that do not get through, where nothing was made to fail."""
    streaming = tables["streaming"]
    for line in lines_of(streaming[(streaming["outcome"] == "failed") & (streaming["fault"] == "none")]):
        yield Finding(
            f"{line['stack']} gives up with {_workers(line)}",
            f"Streaming repository {line['repository']} ends with {line['reason']}. Completed runs of this cell: "
            f"{line['n']}.",
            "requests_by_workers",
            str(line["experiment"]),
            tries(1, 1 + int(line["n"])),
        )


@reads("streaming")
def _under_faults(tables: Tables) -> Iterator[Finding]:
    """Which faults of a Hub, each of them gone when asked again, end a stream."""
    streaming = tables["streaming"]
    tried = streaming[streaming["fault"].ne("none") & streaming["outcome"].isin(["completed", "failed"])]
    for (experiment, stack), group in tried.groupby(["experiment", "stack"], sort=False):
        failed = group[group["outcome"] == "failed"]
        if failed.empty:
            continue
        said = "; ".join(f"{line['fault']}: {line['reason']}" for line in lines_of(failed))
        through = ", ".join(group.loc[group["outcome"] == "completed", "fault"]) or "none"
        yield Finding(
            f"{stack} gives up under {len(failed)} of {len(group)} kinds of faults",
            f"Each fault is gone when the same is asked again. {said}. Gets through: {through}.",
            "requests_by_workers",
            str(experiment),
            1 + len(failed) / len(group),
        )


@reads("streaming")
def _requests_of_workers(tables: Tables) -> Iterator[Finding]:
    """Workers that list the files again, although their parent has the list."""
    streaming = tables["streaming"]
    asking = streaming[(streaming["requests_listing_of_workers"] > 0) & (streaming["outcome"] == "completed")]
    asking = asking[
        (asking["mode"] == "stream") & (asking["fault"] == "none") & ~asking["stack"].str.contains("+", regex=False)
    ]
    for _, group in asking.groupby(["stack", "start"], sort=False):
        line = lines_of(group.sort_values("requests_listing_of_workers"))[-1]
        each = line["requests_listing_of_workers"] / line["workers"]
        yield Finding(
            f"{line['stack']}: workers ask for the list of files themselves ({line['start']})",
            f"With {_workers(line)} on repository {line['repository']} the workers make "
            f"{line['requests_listing_of_workers']:,.0f} requests for it, {each:,.2g} for each "
            f"of them (n = {line['n']}).",
            "requests_by_workers",
            str(line["experiment"]),
            1 + line["requests_listing_of_workers"] / line["requests_metadata"],
        )


def _workers(line: Line) -> str:
    return f"{line['workers']:.0f} workers by {line['start']}" if line["workers"] else "no workers"


SOURCES: tuple[Source, ...] = (_gave_up, _under_faults, _requests_of_workers)
