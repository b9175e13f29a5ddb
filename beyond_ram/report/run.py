"""A run on the page of its cell: memory over time, and what the page of a watched run says of it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import markupsafe

from .. import run_page
from ..chart import Line, Mark, chart
from ..records.run_folder import RunFolder

# Events that are no marks: phases and progress are shown by other means.
_NO_MARKS = ("phase", "progress", "provenance", "start", "end")


def view(run: RunFolder, title: str, page: Path, command: str | None = None, bins: int = 100) -> dict[str, Any]:
    """The template values of a run, with its chart. `page` links to its files. `command` measures the run again."""
    return {
        "title": title,
        "outcome": run.outcome,
        "several": run.several,
        "again": command,
        "chart": drawn(run, title, bins),
        "details": markupsafe.Markup("".join(run_page.details(run, page))),
    }


def drawn(run: RunFolder, title: str, bins: int) -> markupsafe.Markup:
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
