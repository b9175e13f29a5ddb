"""The chart at the top of the report: memory over time for the strongest finding, with limit and request as lines."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import markupsafe
import pandas as pd

from ..analysis.findings import Finding
from ..analysis.frame import Key, key
from ..chart import Line, Mark, chart
from ..collected import Runs, Samples
from ..metrics import METRICS
from ..one_run import Run

_ABOUT_MEMORY = ("growth", "growth difference", "owner", "regrowth", "limit")
"""Kinds of findings that have no effects but are about memory."""


@dataclass(frozen=True)
class Picture:
    """A drawing with its caption and the rank of its finding."""

    svg: markupsafe.Markup
    number: int
    caption: str


def picture(
    findings: Sequence[Finding],
    places: Mapping[Key, Sequence[int]],
    runs: Runs,
    samples: Samples,
    limits: pd.DataFrame | None,
) -> Picture | None:
    """Draw the first finding about memory whose runs exist, else the first of any kind; None if there is none.

    `places` maps a cell to the indices of its runs. `limits` is the table of that name.
    """
    ordered = sorted(enumerate(findings, 1), key=lambda item: not _about_memory(item[1]))
    for number, finding in ordered:
        sides = _sides(finding)
        cells = {name: cell for name, cell in sides.items() if cell in places}
        if not cells or len(cells) < len(sides):
            continue
        drawn = {name: _middle([_run(place, runs, samples) for place in places[cell]]) for name, cell in cells.items()}
        shown = {name: run for name, run in drawn.items() if run and run.kept}
        if shown:
            marks = [mark for place, name in enumerate(shown) for mark in _marks(place, name, shown[name])]
            marks += _limits(cells.values(), limits)
            lines = [Line(name, run.kept, f"run{place}") for place, (name, run) in enumerate(shown.items())]
            svg = chart(lines, f"Kept memory over time: {finding.title}", marks=_distinct(marks))
            return Picture(markupsafe.Markup(svg), number, _caption(shown))
    return None


def _about_memory(finding: Finding) -> bool:
    return finding.kind in _ABOUT_MEMORY or any(METRICS[one.metric].unit == "bytes" for one in finding.effects[:1])


def _sides(finding: Finding) -> dict[str, Key]:
    """The cells of a finding to draw, by name: both sides of a comparison, else its first cell.

    None for a version step: its line names the varied stack, not the two variants that ran.
    """
    if not finding.seen or finding.kind == "version step":
        return {}
    line = finding.seen[0]
    if "axis" in line and finding.baseline:
        sides = ((finding.baseline, line["before"]), (finding.subject, line["after"]))
        return {name: key(line | {line["axis"]: _number(value)}) for name, value in sides}
    return {finding.subject: key(line)}


def _number(value: object) -> object:
    """A value of an axis as a number, if it is one. Columns `before` and `after` have numbers as text."""
    text = str(value)
    return int(text) if text.lstrip("-").isdigit() else value


def _run(place: int, runs: Runs, samples: Samples) -> Run:
    record, events = runs[place]
    return Run(runs.folders[place], record, samples.lists(place), events)


def _middle(runs: Iterable[Run]) -> Run | None:
    """The finished run with the median peak."""
    finished = [run for run in runs if run.record["completed_work"]]
    ordered = sorted(finished, key=lambda run: run.record["peak"].get("anon_bytes") or 0)
    return ordered[(len(ordered) - 1) // 2] if ordered else None


def _marks(place: int, name: str, run: Run) -> Iterator[Mark]:
    if limit := run.record.get("memory_limit_bytes"):
        yield Mark(f"limit of {name}", limit, "limit")
    if asked := run.asked:
        yield Mark(f"memory to request for this run, {asked.bound}{name}", asked.ask_bytes, f"run{place}")


def _limits(cells: Iterable[Key], limits: pd.DataFrame | None) -> Iterator[Mark]:
    """The smallest limit under which a cell completed, if it was searched."""
    wanted = set(cells)
    for line in limits.to_dict("records") if limits is not None else ():
        if key(line) in wanted and pd.notna(line["completed_at_bytes"]):
            yield Mark("smallest limit that completed", line["completed_at_bytes"], "limit")


def _distinct(marks: Sequence[Mark]) -> list[Mark]:
    return list({(mark.name, mark.size_bytes): mark for mark in marks}.values())


def _caption(shown: Mapping[str, Run]) -> str:
    of = "the middle run of the cell" if len(shown) == 1 else "the middle run of each side"
    return (
        f"Kept memory over time, {of}: what the kernel cannot reclaim. Dashed: the memory to request from a scheduler, "
        "and the limit if there is one."
    )
