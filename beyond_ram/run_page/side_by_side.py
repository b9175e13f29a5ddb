"""Several runs as one table: one row per quantity, one column per run, and the change."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..records.run_folder import RunFolder
from ..text import in_columns
from ..watch import pressure, summary, trend, why
from ..watch.missing import printable

_MB = 1e6
_REQUEST = "ask for"


def cells(runs: Mapping[str, RunFolder]) -> Iterator[list[str]]:
    """The rows, each with its name. With two runs, the last cell is the change from the first to the second."""
    records = [run.record for run in runs.values()]
    yield [
        "outcome",
        *(str(record["outcome"]).replace("_", " ") for record in records),
        *([""] if len(runs) == 2 else []),
    ]
    bounds = [run.request.bound if run.request else "" for run in runs.values()]
    for name, unit, values in _rows(list(runs.values())):
        if any(value is not None for value in values):
            row = ["unknown" if value is None else f"{value:,.{1 if unit == 's' else 0}f} {unit}" for value in values]
            change = _change(*values) if len(runs) == 2 else ""
            if name == _REQUEST and any(bounds):  # two lower bounds do not compare
                row, change = [f"{bound}{one}" for bound, one in zip(bounds, row, strict=True)], ""
            yield [name, *row, *([change] if len(runs) == 2 else [])]


def _rows(runs: list[RunFolder]) -> Iterator[tuple[str, str, list[float | None]]]:
    def of(read: Any, scale: float = _MB) -> list[float | None]:
        sizes = [read(run) for run in runs]
        return [None if size is None else size / scale for size in sizes]

    def peak(name: str) -> list[float | None]:
        return of(lambda run: run.record["peak"].get(name))

    yield "kept, peak", "MB", of(lambda run: run.request and run.request.kept_bytes)
    yield _REQUEST, "MB", of(lambda run: run.request and run.request.request_bytes)
    yield "growth at the end", "MB/s", of(_growth)
    yield "anonymous, peak", "MB", peak("anon_bytes")
    yield "shared, peak", "MB", peak("shmem_bytes")
    yield "file, peak", "MB", peak("file_bytes")
    yield "RSS, peak", "MB", peak("rss_bytes")
    yield "group with page cache, peak", "MB", peak("cgroup_bytes")
    yield "copied on write", "MB", peak("copied_on_write_bytes")
    yield "took", "s", of(lambda run: run.record["duration_s"], 1.0)
    yield "CPU", "s", of(lambda run: run.record["cpu_s"], 1.0)
    yield "waited for memory", "s", of(_waited, 1.0)


def _waited(run: RunFolder) -> float | None:
    """Seconds that the run's own group waited. The machine's pressure counts other programs too."""
    stalls = run.record.get("pressure") or {}
    return float(stalls["some_s"]) if stalls.get("of") == pressure.OF_GROUP else None


def _growth(run: RunFolder) -> float | None:
    if not (run.record["growth"] or why.has_course(run.record)):
        return None  # unknown in short runs
    return float((run.record["growth"] or {"bytes_per_s": 0})["bytes_per_s"])


def _change(before: float | None, after: float | None) -> str:
    if before is None or after is None:
        return ""
    if before == after:
        return "same"
    if before <= 0 or after <= 0:
        return f"{after - before:+,.1f}"
    ratio = after / before
    return "same" if abs(ratio - 1) < 0.005 else f"{ratio:.1f}x" if ratio >= 2 else f"{ratio - 1:+.0%}"


def lines(runs: Mapping[str, RunFolder]) -> Iterator[str]:
    """The table for a terminal, as lines. A record from elsewhere may have control characters."""
    return (printable(line, len(line)) for line in _lines(runs))


def _lines(runs: Mapping[str, RunFolder]) -> Iterator[str]:
    heads = ["", *runs, *(["change"] if len(runs) == 2 else [])]
    yield from in_columns([heads, *cells(runs)], left=1)
    for name, run in runs.items():
        if run.request and run.request.at_least:
            yield f"{name}: at least, because {'; '.join(run.request.lower_bound)}"
        if run.request and (lacks := summary.without(run.request, run.record["peak"])):
            yield f"{name}: without {lacks}"
        if growth := run.record.get("growth"):
            yield f"{name}: growth {trend.sentence(growth, run.record['outcome'])}"
