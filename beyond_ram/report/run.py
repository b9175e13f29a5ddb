"""A run on a page: outcome, peaks, phases, provenance, commands, files, and its figure."""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .. import advice
from ..experiment import records
from ..metrics.runs import anon_once
from ..run_files import RUN_FILES
from ..units import MB
from .timeline import POINTS, Figure, Samples, timeline

Line = dict[str, Any]
PEAKS = {
    "anon": "anonymous, peak",
    "shmem": "shared, peak",
    "file": "file, peak",
    "rss": "RSS, peak",
    "pss": "PSS, highest of few readings",
}
"""Peak columns of run.json with their labels."""


@dataclass(frozen=True)
class Run:
    """A run, read from its folder."""

    folder: Path
    record: Mapping[str, Any]
    samples: Samples
    events: Sequence[Mapping[str, Any]]

    @classmethod
    def read(cls, folder: Path, *, of_a_cell: bool = True) -> "Run":
        """Read a folder. Raises DamagedError if a file is missing, truncated, or from another run."""
        record = records.record(folder, of_a_cell=of_a_cell)
        return cls(folder, record, records.samples(folder, of_a_cell=of_a_cell), records.events(folder))

    @property
    def pss_readings(self) -> int:
        """The number of PSS readings. They are too rare for the largest one to be the peak."""
        return sum(value is not None for value in self.samples.get("pss_bytes", ()))

    @property
    def asked(self) -> advice.Advice | None:
        """The memory request; None if the record has no readings."""
        try:
            return advice.advise(self.record) if self.record["completed_work"] or self.record["sampler"] else None
        except KeyError:
            return None


def view(run: Run, title: str, page: Path | None, command: str | None = None, points: int = POINTS) -> dict[str, Any]:
    """The template values of a run, with its figure.

    `page` is the file that links to the run's files, if they are kept. `command` measures the run again.
    """
    record = run.record
    return {
        "title": title,
        "outcome": _outcome(record),
        "summary": list(_summary(run)),
        "several": several(record),
        "phases": [_phase(phase) for phase in record.get("phases", [])],
        "provenance": list(_provenance(record)),
        "command": shlex.join(map(str, record.get("command", []))),
        "again": command,
        "files": [(name, link(run.folder / name, page)) for name in _files(run.folder)] if page else [],
        "figure": drawn(run, points),
    }


def _files(folder: Path) -> list[str]:
    """The file names of a run. A streamed run also has a log of requests."""
    return [*RUN_FILES, *(name for name in ("requests.csv",) if (folder / name).exists())]


def drawn(run: Run, points: int = POINTS) -> Figure | None:
    """The figure of a run; None if it has no samples."""
    return timeline(run.samples, run.record, run.events, points) if run.samples.get("t_s") else None


def link(path: Path, page: Path) -> str:
    """The path of a file relative to the page, percent-encoded."""
    return quote(Path(os.path.relpath(path, page.parent)).as_posix())


def several(record: Mapping[str, Any]) -> bool:
    """Whether several processes ran at the same time. Then sums over processes count shared pages several times."""
    return bool((record.get("peak", {}).get("processes") or 0) > 1)


def _outcome(record: Mapping[str, Any]) -> str:
    outcome = str(record["outcome"]).replace("_", " ")
    return f"{outcome}: {record['reason']}" if record.get("reason") else outcome


def _summary(run: Run) -> Iterator[tuple[str, str]]:
    """Yield labels and values of memory, time and sampling, without values that were not read."""
    record, peak = run.record, run.record["peak"]
    summed = ", summed over processes" if several(record) else ""
    sizes = [(label + summed * (kind != "pss"), peak.get(f"{kind}_bytes")) for kind, label in PEAKS.items()]
    if read := run.pss_readings:
        sizes = [
            (f"PSS, highest of {read} readings" if label == PEAKS["pss"] else label, size) for label, size in sizes
        ]
    if summed:
        sizes.insert(0, ("anonymous, peak, each page once", anon_once(record)))
    sizes += [("one process, high water", _largest(peak)), ("group, with page cache", peak.get("cgroup_bytes"))]
    yield from ((label, f"{size / MB:,.1f} MB") for label, size in sizes if size is not None)
    if asked := run.asked:
        yield "ask for", f"{'at least ' if asked.at_least else ''}{-(-asked.ask_bytes // advice.MIB):,} MiB"
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


def _largest(peak: Mapping[str, Any]) -> float | None:
    """The largest high-water mark of any process."""
    marks = (peak.get("hwm_bytes") or {}).get("processes") or [{}]
    size: float | None = marks[0].get("hwm_bytes")
    return size


def _phase(phase: Mapping[str, Any]) -> Line:
    sizes = {name: phase.get(f"{name}_bytes") for name in ("anon", "shmem", "file", "rss", "pss", "hwm")}
    return {
        "phase": phase["phase"] or "before the first mark",
        "start_s": phase["start_s"],
        "length_s": phase["end_s"] - phase["start_s"],
        **{name: None if size is None else size / MB for name, size in sizes.items()},
    }


def _provenance(record: Mapping[str, Any], most: int = 60) -> list[tuple[str, str]]:
    """Names and values; a nested value gets both names."""
    pairs = []
    for name, value in record.get("provenance", {}).items():
        inner = value.items() if isinstance(value, dict) else [(None, value)]
        pairs += [
            (f"{name}: {key}" if key is not None else str(name).replace("_", " "), str(one))
            for key, one in inner
            if one not in (None, "")
        ]
    return pairs[:most]
