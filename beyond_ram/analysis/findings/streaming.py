"""Findings on the requests that streaming makes."""

from collections.abc import Iterator

from .finding import Bar, Finding, Line, Scope, Source, Tables, lines_of, reads, tries


@reads("streaming")
def _gives_up(tables: Tables) -> Iterator[Finding]:
    """Clients that fail although no fault is injected."""
    streaming = tables["streaming"]
    for line in lines_of(streaming[streaming["fault"] == "none"]):
        failures, runs = _failed(line)
        if failures:
            yield Finding(
                kind="gives up",
                subject=str(line["stack"]),
                scope=Scope(str(line["experiment"]), (_workers(line),), failed=failures),
                facts={"runs": runs, "repository": line["repository"], "reason": line.get("why") or line["reason"]},
                strength=tries(failures, runs),
                figure="requests_by_workers",
                seen=(line,),
                cause=("gives up", str(line["stack"])),
            )


@reads("streaming")
def _under_faults(tables: Tables) -> Iterator[Finding]:
    """Injected faults that end a stream, although each is gone when the request is repeated."""
    streaming = tables["streaming"]
    tried = streaming[streaming["fault"].ne("none") & streaming["outcome"].ne("not_applicable")]
    for (experiment, stack), group in tried.groupby(["experiment", "stack"], sort=False):
        lines = lines_of(group)
        broken = [line for line in lines if _failed(line)[0]]
        if not broken:
            continue
        yield Finding(
            kind="faults",
            subject=str(stack),
            scope=Scope(str(experiment), failed=sum(_failed(line)[0] for line in broken)),
            facts={
                "broken": [(str(line["fault"]), *_failed(line), line.get("why") or line["reason"]) for line in broken],
                "passed": [(str(line["fault"]), int(line["n"])) for line in lines if line not in broken],
                "kinds": len({line["fault"] for line in lines}),
            },
            strength=max(tries(*_failed(line)) for line in broken),
            figure="requests_by_workers",
            seen=tuple(broken),
        )


@reads("streaming")
def _listing(tables: Tables) -> Iterator[Finding]:
    """Workers that request the list of files again, which their parent already has. The worst cell of each stack."""
    streaming = tables["streaming"]
    asking = streaming[(streaming["requests_listing_of_workers_min"] > 0) & (streaming["n"] > 0)]
    asking = asking[asking["workers"] > 0]  # processes that a client starts itself are not workers of the loader
    asking = asking[
        (asking["mode"] == "stream") & (asking["fault"] == "none") & ~asking["stack"].str.contains("+", regex=False)
    ]
    for _, group in asking.groupby(["stack", "start"], sort=False):
        lines = lines_of(group.sort_values("requests_listing_of_workers"))
        line = lines[-1]
        least, most = line["requests_listing_of_workers_min"], line["requests_listing_of_workers_max"]
        rest = line["requests_metadata_max"] - least
        yield Finding(
            kind="listing",
            subject=str(line["stack"]),
            scope=Scope(str(line["experiment"]), (_workers(line),)),
            facts={
                "requests": (float(least), float(most)),
                "per_worker": least / line["workers"],
                "metadata": float(line["requests_metadata"]),
                "repository": line["repository"],
                "n": int(line["n"]),
                "cells": len(lines),
            },
            # The factor over the requests without these. One run proves nothing.
            strength=(rest + least) / max(rest, 1) if line["n"] > 1 else 1.0,
            figure="requests_by_workers",
            bars=(
                Bar("by workers, for the list", float(most), f"{most:,.0f}"),
                Bar("all but reads of data", float(line["requests_metadata"]), f"{line['requests_metadata']:,.10g}"),
            ),
            seen=tuple(lines),
            cause=("listing", str(line["stack"])),
        )


def _failed(line: Line) -> tuple[int, int]:
    """The number of failed runs, and of all runs."""
    if "failed" in line:
        return int(line["failed"]), int(line["finished"] + line["failed"])
    failures = int(line["outcome"] not in ("completed", "not_applicable"))
    return failures, failures + int(line["n"])


def _workers(line: Line) -> str:
    return f"{line['workers']:.0f} workers by {line['start']}" if line["workers"] else "no workers"


SOURCES: tuple[Source, ...] = (_gives_up, _under_faults, _listing)
