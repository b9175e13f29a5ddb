"""The page of the atlas: all steps, largest first; a table per library (one row per case, one column per release);
curves."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import markupsafe
from packaging.version import Version

from ..analysis.changes import in_unit
from ..bisect.result import NAMES
from ..files import write as write_file
from ..report.page import TEMPLATES, render
from ..shipped import FILES
from . import tables
from .tables import CONFIRMED, NUMBERS, ONCE, REFUTED, Line, strength
from .words import times, values

PAGE = "atlas.html"
SHIPPED = FILES / "docs" / "measured" / "atlas"
"""The atlas that comes with the checkout."""
_SHADES = (1.1, 1.25, 1.5, 2.0)
_WIDTH, _HEIGHT = 220, 56
# Text in a table for a cell without a number. Any other outcome is a failure.
_SHORT = {"": "-", "not run": "-", "cannot be installed": "x"}


def write(out: Path, cases: Path) -> None:
    """Write the page of the tables in a folder. The cases' folder lists the public threads about steps."""
    cells, steps = (tables.read(out / name) for name in (tables.CELLS, tables.STEPS))
    threads = tables.read(cases / tables.THREADS)
    own = {
        name: markupsafe.Markup((TEMPLATES / name).read_text(encoding="utf-8")) for name in ("page.css", "atlas.css")
    }
    text = render(
        "atlas.html.jinja", own=own, metrics={metric: NAMES[metric] for metric in NUMBERS}, summary=summary(out, cases),
        steps=[_step(step, threads) for step in _ordered(steps) if step["state"] == CONFIRMED],
        others=[_step(step, threads) for step in _ordered(steps) if step["state"] in (REFUTED, ONCE)],
        libraries=list(_libraries(cells, steps)),
    )  # fmt: skip
    write_file(out / PAGE, text)


def summary(out: Path, folder: Path) -> list[str]:
    """The counts of cells and steps in sentences, with the cases in `folder` that were not run."""
    cells, steps = (tables.read(out / name) for name in (tables.CELLS, tables.STEPS))
    run = [cell for cell in cells if int(cell["runs"])]
    counts = {state: sum(one["state"] == state for one in steps) for state in (CONFIRMED, REFUTED, ONCE)}
    libraries, cases = (len({cell[name] for cell in run}) for name in ("library", "case"))
    lines = [
        f"{libraries} libraries, {cases} cases, {len(run)} cells of a case and a release.",
        f"{counts[CONFIRMED]} steps confirmed by fresh runs, {counts[REFUTED]} not confirmed, "
        f"{counts[ONCE]} not repeated yet.",
    ]
    if left := len(cells) - len(run):
        lines.append(f"{left} cells were not run.")
    if never := sorted({script.stem for script in folder.glob("*.py")} - {cell["case"] for cell in run}):
        lines.append(f"{len(never)} of {len(never) + cases} cases were not run at all: {', '.join(never)}.")
    return lines


def _ordered(steps: Sequence[Line]) -> list[Line]:
    """Steps, largest first. Numbers come before outcomes and answers."""
    return sorted(steps, key=lambda step: -strength(step))


def _step(step: Line, threads: Sequence[Line]) -> dict[str, Any]:
    metric = step["metric"]
    fits = (one for one in threads if all(not one[key] or one[key] == step[key] for key in ("case", "metric")))
    known = next((one["thread"] for one in fits if (one["library"], one["to_version"]) ==
                  (step["library"], step["to_version"])), "")  # fmt: skip
    return dict(step) | {
        "name": NAMES[metric], "values": values(step), "times": times(step), "known": known,
        "worse": bool(step["ratio"]) and float(step["ratio"]) > 1,
    }  # fmt: skip


def _libraries(cells: Sequence[Line], steps: Sequence[Line]) -> Iterator[dict[str, Any]]:
    for library in dict.fromkeys(cell["library"] for cell in cells):
        own = [cell for cell in cells if cell["library"] == library]
        releases = {cell["version"]: cell["date"] for cell in sorted(own, key=lambda cell: Version(cell["version"]))}
        by_case: dict[str, dict[str, Line]] = {}
        for cell in own:
            by_case.setdefault(cell["case"], {})[cell["version"]] = cell
        marks = {(step["case"], step["metric"], step["to_version"]): step
                 for step in _ordered(steps) if step["library"] == library and step["state"] == CONFIRMED}  # fmt: skip
        yield {
            "name": library, "releases": releases,
            "grids": {metric: [_row(cells_of, metric, releases, marks) for cells_of in by_case.values()]
                      for metric in NUMBERS},
            "curves": [(name, [(NAMES[metric], _curve(cells_of, metric, releases)) for metric in NUMBERS])
                       for name, cells_of in by_case.items()],
        }  # fmt: skip


def _row(cells: dict[str, Line], metric: str, releases: Iterable[str], marks: dict[Any, Line]) -> dict[str, Any]:
    """The row of a case: its newest value, and the value of each release as a multiple of it."""
    measured = [version for version in releases if version in cells and cells[version][metric]]
    newest = float(cells[measured[-1]][metric]) if measured else 0.0
    first = next(iter(cells.values()))
    shown = [_shown(cells.get(version), metric, newest, marks) for version in releases]
    return {"case": first["case"], "title": first["title"], "cells": shown,
            "newest": in_unit(metric, newest) if measured else ""}  # fmt: skip


def _shown(cell: Line | None, metric: str, newest: float, marks: dict[Any, Line]) -> dict[str, str]:
    if cell is None or not cell[metric]:
        text = "" if cell is None else cell["outcome"]
        short = _SHORT.get(text, "fails")
        reason = cell["reason"] if cell else ""
        return {"text": short, "class": "none", "title": f"{text}: {reason}" if reason else text, "mark": ""}
    value = float(cell[metric])
    ratio = value / newest if newest > 0 else 1.0
    shade = sum(max(ratio, 1 / ratio if ratio else 99) >= least for least in _SHADES)
    step = marks.get((cell["case"], metric, cell["version"]))
    title = f"{in_unit(metric, value)}, {cell['runs']} runs"
    if cell["moved"]:
        title += f"; had to move: {cell['moved']}"
    if step:
        title += f"; step from {step['from_version']}: {times(step)}"
    return {"text": f"{ratio:.2f}", "class": f"{'up' if ratio > 1 else 'down'}{shade}" if shade else "", "title": title,
            "mark": "" if not step else "▲" if step["ratio"] and float(step["ratio"]) > 1 else "▼"}  # fmt: skip


def _curve(cells: dict[str, Line], metric: str, releases: Collection[str]) -> dict[str, Any] | None:
    """A curve from 0 to the largest value, over the releases in order."""
    points = [(place, version, float(cells[version][metric])) for place, version in enumerate(releases)
              if version in cells and cells[version][metric]]  # fmt: skip
    if len(points) < 2:
        return None
    most, last = max(value for *_, value in points) or 1.0, max(1, len(releases) - 1)
    dots = [
        {"x": round(4 + (_WIDTH - 8) * place / last, 1), "y": round(_HEIGHT - 4 - (_HEIGHT - 10) * value / most, 1),
         "title": f"{version}: {in_unit(metric, value)}"}
        for place, version, value in points
    ]  # fmt: skip
    return {"dots": dots, "line": " ".join(f"{dot['x']},{dot['y']}" for dot in dots), "most": in_unit(metric, most),
            "width": _WIDTH, "height": _HEIGHT}  # fmt: skip
