"""The page of runs that were weighed by hand: one command's, or several side by side."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import beyond_ram

from ..units import MB
from . import page as pages_of
from .packed import packed_json
from .run import PEAKS, Run, told
from .timeline import overlay

_POINTS = 1000


def write(page: Path, runs: Mapping[str, Run], title: str, *, kept: bool = True) -> None:
    """Write the page of some runs, by name. Their files, if they are kept, are linked relative to the page.

    The user has named the page: a FIFO, a device and /dev/stdout are written into. Raises OSError.
    """
    shown = [told(run, name, page if kept else None, points=_POINTS) for name, run in runs.items()]
    figures: list[Any] = [one.pop("figure") for one in shown]
    drawn = [figure is not None for figure in figures]
    figures.append(overlay({name: (run.samples, run.record) for name, run in runs.items()}, _POINTS))
    pages_of.write(
        "runs.html.jinja",
        page,
        into_streams=True,
        version=beyond_ram.__version__,
        title=title,
        runs=shown,
        drawn=drawn,
        lines=[_line(name, run) for name, run in runs.items()],
        peaks=[
            *((kind, f"{label} (MB)") for kind, label in PEAKS.items()),
            ("ask", "ask for (MiB)"),
            ("duration_s", "takes (s)"),
            ("pressure_some_s", "waited for memory (s)"),
        ],
        figures=packed_json(figures),
    )


def _line(name: str, run: Run) -> dict[str, Any]:
    sizes = {kind: run.record["peak"].get(f"{kind}_bytes") for kind in PEAKS}
    return {
        "name": name,
        "outcome": str(run.record["outcome"]).replace("_", " "),
        **{kind: None if size is None else size / MB for kind, size in sizes.items()},
        "ask": run.asked.ask_bytes / (1 << 20) if run.asked else None,
        "duration_s": run.record["duration_s"],
        "pressure_some_s": (run.record.get("pressure") or {}).get("some_s"),
    }
