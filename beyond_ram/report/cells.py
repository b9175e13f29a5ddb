"""The cells of the report: one line each in the table, and a compressed page that opens on demand."""

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import markupsafe
import pandas as pd

from ..analysis.frame import Key, describe, key
from ..experiment import parse
from ..memory_request import MIB
from ..metrics.runs import anon_once, request_bytes
from ..records.collected import Runs, Samples
from ..records.run_folder import RunFolder
from ..units import MB
from .page import packed, render
from .run import view
from .sections import DATA

Line = dict[str, Any]
TOGETHER = 25
"""Number of cells compressed together. Similar pages compress well."""
_DRAWN, _LEAST, _MOST = 50_000, 20, 100
# Tables whose lines are on a cell's page.
HOLDERS, REQUESTS, LIMITS = "holders", "streaming", "limits"


def bins(runs: int) -> int:
    """Number of parts of a line of which the extremes are drawn. It keeps a page with many runs small."""
    return max(_LEAST, min(_MOST, _DRAWN // max(runs, 1)))


@dataclass
class Cells:
    """The cells of a report: their lines and compressed pages."""

    page: Path
    tables: Mapping[str, pd.DataFrame]
    settings: Mapping[str, Sequence[str]]
    command: Callable[[str, str], str | None]
    """Returns the command that measures a run again, from its experiment and path."""
    lines: list[Line] = field(default_factory=list)
    packs: list[markupsafe.Markup] = field(default_factory=list)
    of: dict[Key, Line] = field(default_factory=dict)
    """The line of each cell."""

    def read(self, measured: Runs, samples: Samples) -> None:
        """Read every run, one cell at a time. Raises DamagedError."""
        beside = {name: _by_cell(self.tables.get(name)) for name in (HOLDERS, REQUESTS, LIMITS)}
        folders = measured.folders
        groups = [*_grouped(folders)]
        most = bins(len(measured))
        pack: dict[str, str] = {}
        for number, (path, places) in enumerate(groups, 1):
            read = ((place, *measured[place]) for place in places)
            runs = [RunFolder(folders[place], record, samples.lists(place), events) for place, record, events in read]
            cell = runs[0].record["cell"]
            self.lines.append(self._line(path, cell, runs, len(self.packs)))
            self.of[key(cell)] = self.lines[-1]
            pack[path] = self._page(path, cell, runs, {name: lines[key(cell)] for name, lines in beside.items()}, most)
            if len(pack) == TOGETHER or number == len(groups):
                self.packs.append(packed(pack))
                pack = {}

    def _line(self, path: str, cell: Line, runs: Sequence[RunFolder], pack: int) -> Line:
        finished = [run for run in runs if run.record["completed_work"]]
        requests = _not_none(request_bytes(run.record) for run in finished)
        times = _not_none(run.record["duration_s"] for run in finished)
        return {
            "path": path,
            "pack": pack,
            "experiment": cell["experiment"],
            "stack": cell["stack"],
            "data": next((cell[name] for name in DATA if name in cell), ""),
            "setting": self.words(cell),
            "outcomes": ", ".join(dict.fromkeys(str(run.record["outcome"]).replace("_", " ") for run in runs)),
            "finished": len(finished),
            "runs": len(runs),
            "peak_anon": _median(anon_once(run.record) for run in finished),
            "peak_rss": _median(run.record["peak"].get("rss_bytes") for run in finished),
            "ask": max(requests) / MIB if requests else None,
            "duration_s": statistics.median(times) if times else None,
        }  # fmt: skip

    def words(self, cell: Mapping[Any, Any]) -> str:
        """The settings that distinguish a cell in its experiment, in words."""
        return ", ".join(describe(dict(cell), self.settings.get(str(cell["experiment"]), ())))

    def _page(
        self, path: str, cell: Line, runs: Sequence[RunFolder], beside: Mapping[str, list[Line]], most: int
    ) -> str:
        shown = []
        for run in runs:
            rep = run.record["cell"]["rep"]
            again = self.command(str(cell["experiment"]), f"{path}/rep~{rep}")
            shown.append(view(run, f"Repeat {rep}", self.page, again, most))
        axes = [(axis, value) for axis, value in cell.items() if axis not in ("experiment", "rep")]
        return render(
            "cell.html.jinja",
            title=" · ".join(named(cell["experiment"], cell["stack"], self.words(cell))),
            axes=axes,
            runs=shown,
            holders=beside[HOLDERS],
            requests=[_requests(line) for line in beside[REQUESTS]],
            limits=beside[LIMITS],
        )


def named(*parts: object) -> list[str]:
    """The parts of a cell's name. An experiment and its stack can have the same name; it is then listed once."""
    return list(dict.fromkeys(str(part) for part in parts if part))


def _grouped(folders: Iterable[Path]) -> Iterator[tuple[str, list[int]]]:
    """The path of each cell below the folder of all runs, with the indices of its runs."""
    places_of: dict[str, list[int]] = defaultdict(list)
    for place, folder in enumerate(folders):
        levels = [part for part in folder.parts if "~" in part]
        begins = folder.parts[-len(levels) - 1]
        cell = parse("/".join([begins, *levels]))
        places_of[cell.path.rpartition("/")[0]].append(place)
    yield from places_of.items()


def _by_cell(table: pd.DataFrame | None) -> defaultdict[Key, list[Line]]:
    lines: defaultdict[Key, list[Line]] = defaultdict(list)
    for line in table.to_dict("records") if table is not None else ():
        lines[key(line)].append({str(name): value for name, value in line.items()})
    return lines


def _requests(line: Line) -> Line:
    """Requests of a cell by kind and sender, without kinds that have none."""
    from ..metrics.streaming import KINDS, ROLES, requests_column

    counts = {kind: [line.get(requests_column(kind, role)) or 0 for role in ROLES] for kind in KINDS}
    return {"roles": ROLES, "kinds": {kind: row for kind, row in counts.items() if any(row)}, "n": line["n"]}


def _not_none(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _median(sizes: Iterable[float | None]) -> float | None:
    """The median in MB; None without values."""
    values = _not_none(sizes)
    return statistics.median(values) / MB if values else None
