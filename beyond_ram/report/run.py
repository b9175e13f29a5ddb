"""A run on the page of its cell: outcome, peaks, phases, provenance, commands, files, and memory over time."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import markupsafe

from .. import advice
from ..chart import Line, Mark, chart
from ..metrics.runs import anon_once
from ..one_run import Run
from ..run_files import RUN_FILES
from ..units import MB

# Events that are no marks: phases and progress are shown by other means.
_NO_MARKS = ("phase", "progress", "provenance", "start", "end")
PEAKS = {
    "anon": "anonymous, peak",
    "shmem": "shared, peak",
    "file": "file, peak",
    "rss": "RSS, peak",
    "pss": "PSS, highest of few readings",
}
"""Peak columns of run.json with their labels."""


def view(run: Run, title: str, page: Path, command: str | None = None, bins: int = 100) -> dict[str, Any]:
    """The template values of a run, with its chart. `page` links to its files. `command` measures the run again."""
    return {
        "title": title,
        "outcome": run.outcome,
        "summary": list(_summary(run)),
        "several": run.several,
        "phases": [_phase(phase) for phase in run.phases],
        "provenance": run.provenance,
        "command": run.command,
        "again": command,
        "files": [(name, run.link(name, page)) for name in _files(run.folder)],
        "chart": drawn(run, title, bins),
    }


def _files(folder: Path) -> list[str]:
    """The file names of a run. A streamed run also has a log of requests."""
    return [*RUN_FILES, *(name for name in ("requests.csv",) if (folder / name).exists())]


def drawn(run: Run, title: str, bins: int) -> markupsafe.Markup:
    """The memory of a run over time, by kind, with phases, limit and events."""
    limit = run.record.get("memory_limit_bytes")
    svg = chart(
        [*run.by_kind, Line("PSS", run.series("pss_bytes"), "pss", dots=True)],
        f"{title}, memory over time",
        marks=[Mark("limit", limit, "limit")] if limit else (),
        phases=run.phases,
        events=[(event["t_s"], _describe(event)) for event in run.events if event["event"] not in _NO_MARKS],
        bins=bins,
    )
    return markupsafe.Markup(svg)


def _describe(event: Mapping[str, Any]) -> str:
    """The name of an event with its text and number values."""
    values = {
        key: value
        for key, value in event.items()
        if key not in ("t_s", "event", "pid") and isinstance(value, (str, int, float)) and not key.endswith("_bytes")
    }
    return ", ".join([event["event"].replace("_", " "), *(f"{key} {value}" for key, value in values.items())])


def pss_readings(run: Run) -> int:
    """The number of PSS readings. They are too rare for the largest one to be the peak."""
    return sum(value is not None for value in run.samples.get("pss_bytes", ()))


def _summary(run: Run) -> Iterator[tuple[str, str]]:
    """Yield labels and values of memory, time and sampling, without values that were not read."""
    record, peak = run.record, run.record["peak"]
    summed = ", summed over processes" if run.several else ""
    sizes = [(label + summed * (kind != "pss"), peak.get(f"{kind}_bytes")) for kind, label in PEAKS.items()]
    if read := pss_readings(run):
        sizes = [
            (f"PSS, highest of {read} readings" if label == PEAKS["pss"] else label, size) for label, size in sizes
        ]
    if summed:
        sizes.insert(0, ("anonymous, peak, each page once", anon_once(record)))
    sizes += [
        ("one process, high water", run.marks[0].get("hwm_bytes") if run.marks else None),
        ("group, with page cache", peak.get("cgroup_bytes")),
    ]
    yield from ((label, f"{size / MB:,.1f} MB") for label, size in sizes if size is not None)
    if asked := run.asked:
        yield "ask for", f"{asked.bound}{asked.ask_bytes / MB:,.0f} MB (--mem={advice.mem(asked.ask_bytes)})"
    if limit := record.get("memory_limit_bytes"):
        yield "limit", f"{limit / MB:,.1f} MB"
    times = [("took", record["duration_s"]), ("CPU", record["cpu_s"])]
    yield from ((label, f"{time:,.2f} s") for label, time in times if time is not None)
    if stalls := record.get("pressure"):
        scope = {"group": "its group", "around": "the group around it"}.get(stalls.get("of"), "the whole machine")
        waited = (
            f"{stalls['some_s']:,.2f} s, {stalls['full_s']:,.2f} s of it in all processes at once; counted for {scope}"
        )
        yield "waited for memory", waited
    if record["sampler"].get("samples"):
        taken = record["sampler"]["samples"]
        mean = f", every {1000 * record['duration_s'] / taken:.1f} ms in the mean" if record["duration_s"] else ""
        yield "samples", f"{taken:,}{mean}; asked for every {record['sampler']['interval_ms']} ms"
    for note in [
        *peak.get("disagreements", []),
        *(f"{one['what']}: {one['why']}" for one in record.get("missing", [])),
    ]:
        yield "note", note


def _phase(phase: Mapping[str, Any]) -> dict[str, Any]:
    sizes = {name: phase.get(f"{name}_bytes") for name in ("anon", "shmem", "file", "rss", "pss", "hwm")}
    return {
        "phase": phase["phase"] or "before the first mark",
        "start_s": phase["start_s"],
        "length_s": phase["end_s"] - phase["start_s"],
        **{name: None if size is None else size / MB for name, size in sizes.items()},
    }
