"""Findings on what streaming asks of a Hub."""

from collections.abc import Iterator

from ..decide import selected
from .base import Bar, Finding, Line, Source, Tables, lines_of, reads, tries


@reads("streaming")
def _gave_up(tables: Tables) -> Iterator[Finding]:
    """Clients that do not get through, where nothing was made to fail."""
    streaming = tables["streaming"]
    for line in lines_of(streaming[streaming["fault"] == "none"]):
        failed, runs = _failed(line)
        if failed:
            yield Finding(
                f"{line['stack']} gives up with {_workers(line)} in {_of(failed, runs)}",
                f"Streaming repository {line['repository']} ends with {line.get('why') or line['reason']}.",
                "requests_by_workers",
                str(line["experiment"]),
                tries(failed, runs),
                seen=(line,),
                cause=("gives up", str(line["stack"])),
            )


@reads("streaming")
def _under_faults(tables: Tables) -> Iterator[Finding]:
    """Which faults of a Hub, each of them gone when asked again, end a stream."""
    streaming = tables["streaming"]
    tried = streaming[streaming["fault"].ne("none") & streaming["outcome"].ne("not_applicable")]
    for (experiment, stack), group in tried.groupby(["experiment", "stack"], sort=False):
        lines = lines_of(group)
        broken = [line for line in lines if _failed(line)[0]]
        if not broken:
            continue
        said = "; ".join(
            f"{line['fault']}: {_of(*_failed(line))}, {line.get('why') or line['reason']}" for line in broken
        )
        through = ", ".join(f"{line['fault']} (n = {line['n']})" for line in lines if line not in broken) or "none"
        kinds, all_kinds = ({str(line["fault"]) for line in found} for found in (broken, lines))
        yield Finding(
            f"{stack} gives up under {len(kinds)} of {len(all_kinds)} kinds of faults",
            f"The endpoint injects each fault once, and answers when the same is asked again. Failed: {said}. "
            f"Gets through: {through}.",
            "requests_by_workers",
            str(experiment),
            max(tries(*_failed(line)) for line in broken),
            seen=tuple(broken),
        )


@reads("streaming")
def _requests_of_workers(tables: Tables) -> Iterator[Finding]:
    """Requests of workers for the list of files, which their parent has: the cell of a stack with most of them."""
    streaming = tables["streaming"]
    asking = streaming[(streaming["requests_listing_of_workers_min"] > 0) & (streaming["n"] > 0)]
    asking = asking[asking["workers"] > 0]  # processes that a client starts by itself are no workers of the loader
    asking = asking[
        (asking["mode"] == "stream") & (asking["fault"] == "none") & ~asking["stack"].str.contains("+", regex=False)
    ]
    for _, group in asking.groupby(["stack", "start"], sort=False):
        lines = lines_of(group.sort_values("requests_listing_of_workers"))
        line = lines[-1]
        _, which = selected(
            [str(n) for n in range(len(lines))], [float(one["requests_listing_of_workers"]) for one in lines]
        )
        least, most = line["requests_listing_of_workers_min"], line["requests_listing_of_workers_max"]
        asked = f"{least:,.0f}" if least == most else f"{least:,.0f} to {most:,.0f}"
        requests = "request" if most == 1 else "requests"
        rest = line["requests_metadata_max"] - least
        yield Finding(
            f"{line['stack']}: {_workers(line)} make {asked} {requests} for the list of files",
            f"Repository {line['repository']}: {_count(line['requests_metadata'])} requests beside reads of data in "
            f"all{' in the median' if line['n'] > 1 else ''}, {asked} of them by workers for the list of files, "
            f"{least / line['workers']:,.2g} for each worker at least (n = {line['n']}; {which}).",
            "requests_by_workers",
            str(line["experiment"]),
            # Over what would be left without them, at least; of one run nothing is sure.
            (rest + least) / max(rest, 1) if line["n"] > 1 else 1.0,
            bars=(
                Bar("by workers, for the list", float(most), asked),
                Bar("all but reads of data", float(line["requests_metadata"]), _count(line["requests_metadata"])),
            ),
            seen=tuple(lines),
            cause=("listing", str(line["stack"])),
        )


def _count(median: float) -> str:
    """A count; the median of two is not always whole."""
    return f"{median:,.10g}"


def _failed(line: Line) -> tuple[int, int]:
    """How many of how many runs failed."""
    if "failed" in line:
        return int(line["failed"]), int(line["finished"] + line["failed"])
    failed = int(line["outcome"] not in ("completed", "not_applicable"))
    return failed, failed + int(line["n"])


def _of(failed: int, runs: int) -> str:
    return f"{failed} of {runs} {'run' if runs == 1 else 'runs'}"


def _workers(line: Line) -> str:
    return f"{line['workers']:.0f} workers by {line['start']}" if line["workers"] else "no workers"


SOURCES: tuple[Source, ...] = (_gave_up, _under_faults, _requests_of_workers)
