"""Findings on what streaming asks of a Hub."""

from collections.abc import Iterator

from ...metrics import METRICS
from ...units import MB
from ..frame import against, same_but_for
from ..matters import LEAST, SHARE
from .base import Finding, Line, Source, Tables, as_factor, lines_of, pairs_of, reads


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
            100.0,
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
def _requests(tables: Tables) -> Iterator[Finding]:
    """Of each repository the conditions under which stacks differ most in what they ask."""
    streaming = tables["streaming"]
    usual = streaming[(streaming["outcome"] == "completed") & streaming["requests_metadata"].gt(0)]
    usual = usual[(usual["mode"] == "stream") & (usual["fault"] == "none")]
    best: dict[str, tuple[float, Line, Line]] = {}
    for _, group in same_but_for(usual[usual["start"] != "spawn"], "stack"):
        lines = sorted(lines_of(group), key=lambda line: float(line["requests_metadata"]))
        factor = lines[-1]["requests_metadata"] / lines[0]["requests_metadata"]
        if factor > best.get(str(lines[0]["repository"]), (1.0, {}, {}))[0]:
            best[str(lines[0]["repository"])] = (factor, lines[0], lines[-1])
    for repository, (factor, least, most) in best.items():
        yield Finding(
            f"{most['stack']} asks {factor:,.1f} times as often as {least['stack']} ({repository}, {_workers(most)})",
            f"Beside its reads of data it makes {most['requests_metadata']:,.0f} requests, {least['stack']} "
            f"{least['requests_metadata']:,.0f} (n = {most['n']} and {least['n']}); the time to the first batch is "
            f"{most['time_to_first_batch_s']:.2f} s and {least['time_to_first_batch_s']:.2f} s.",
            "requests_by_workers",
            str(most["experiment"]),
            factor,
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


# What is compared between a baseline and its candidate, with what is too small to matter.
_WATCHED = {
    "requests_metadata": LEAST["requests"],
    "requests_data": LEAST["requests"],
    "resolution_s": LEAST["s"],
    "time_to_first_batch_s": LEAST["s"],
    "worker_grown_anon_bytes": 4e6,
}


@reads("streaming")
def _worse(tables: Tables) -> Iterator[Finding]:
    """What a candidate does worse than its baseline, under the same conditions: every run beyond every run."""
    streaming = tables["streaming"]
    done = streaming[(streaming["outcome"] == "completed") & (streaming["fault"] == "none")]
    for _, _, sides in against(done, pairs_of(tables)):
        (before,), (newest,) = (lines_of(side) for side in sides)
        for metric, least in _WATCHED.items():
            exact = METRICS[metric].unit == "requests"
            low, high = newest.get(f"{metric}_low", newest[metric]), before.get(f"{metric}_high", before[metric])
            enough = exact or min(newest["n"], before["n"]) >= 2
            if not enough or not low > max(high, before[metric] + least, before[metric] * (1 + SHARE)):
                continue
            unit, scale = ("MB", MB) if METRICS[metric].unit == "bytes" else (METRICS[metric].unit, 1)
            yield Finding(
                f"Worse in {newest['stack']} than in {before['stack']}: {METRICS[metric].label.lower()} "
                f"({newest['repository']}, {_workers(newest)})",
                f"{newest[metric] / scale:,.2f} {unit} where it was {before[metric] / scale:,.2f}; n = {newest['n']} "
                f"and {before['n']}, every run above every run before.",
                "worker_memory" if "anon" in metric else "requests_by_workers",
                str(newest["experiment"]),
                as_factor(newest[metric] / before[metric]) if before[metric] else 10.0,
            )


@reads("streaming")
def _reading_ahead(tables: Tables) -> Iterator[Finding]:
    """What a setting of Parquet's reading ahead does to the memory of a process that reads."""
    streaming = tables["streaming"]
    done = streaming[(streaming["outcome"] == "completed") & (streaming["mode"] == "stream")]
    done = done[done["worker_grown_anon_bytes"] > 0]
    best: dict[tuple[str, str], tuple[float, Line, Line]] = {}
    for _, group in same_but_for(done, "buffering"):
        sides = {line["buffering"]: line for line in lines_of(group)}
        if "default" not in sides:
            continue
        default = sides.pop("default")
        for name, line in sides.items():
            ratio_of = line["worker_grown_anon_bytes"] / default["worker_grown_anon_bytes"]
            key = (str(line["stack"]), str(name))
            if as_factor(ratio_of) > best.get(key, (1.2, {}, {}))[0]:
                best[key] = (as_factor(ratio_of), default, line)
    for (stack, name), (factor, default, line) in best.items():
        sizes = [side["worker_grown_anon_bytes"] / MB for side in (line, default)]
        yield Finding(
            f"{name}: {sizes[0]:,.0f} MB in each process that reads, {sizes[1]:,.0f} by default ({stack})",
            f"Repository {line['repository']}, {_workers(line)}, {line['latency_ms']:.0f} ms, "
            f"{line['bandwidth_mb_per_s']:.0f} MB/s: {line['rows_per_s']:,.0f} rows per second with it, "
            f"{default['rows_per_s']:,.0f} by default; n = {line['n']} and {default['n']}.",
            "worker_memory",
            str(line["experiment"]),
            factor,
        )


def _workers(line: Line) -> str:
    return f"{line['workers']:.0f} workers by {line['start']}" if line["workers"] else "no workers"


SOURCES: tuple[Source, ...] = (_gave_up, _under_faults, _requests, _requests_of_workers, _worse, _reading_ahead)
