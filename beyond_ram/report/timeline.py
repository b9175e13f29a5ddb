"""A Plotly figure of a run's memory over time: kinds of memory, phases, limit, events."""

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..text import plain
from ..units import KINDS, MB
from .thin import kept

Figure = dict[str, Any]
Samples = Mapping[str, Sequence[Any]]
POINTS = 200
"""Approximate number of samples to draw per series."""
# A phase must take at least this share of the time for its name to fit.
_NAMED_SHARE = 0.06
_MOST = 120


def words(text: object) -> str:
    """Escape a text from data, because Plotly interprets tags."""
    return html.escape(plain(str(text), _MOST), quote=False)


def timeline(
    samples: Samples, record: Mapping[str, Any], events: Iterable[Mapping[str, Any]], points: int = POINTS
) -> Figure:
    """Draw the samples of a run over time, in MB over seconds. Kinds of memory are stacked, so the upper edge is
    RSS."""
    times = samples["t_s"]
    kinds = [name for name in KINDS if name in samples]
    if any(_unknown(samples[name]) for name in kinds):  # only RSS is known
        kinds = []
    filled = {name: [value or 0.0 for value in samples[name]] for name in kinds}
    totals = [value or 0.0 for value in samples["rss_bytes"]]
    if kinds:
        totals = [sum(values) for values in zip(*filled.values(), strict=True)]
    places = kept(times, [*filled.values(), totals], points)
    at = [round(times[place], 3) for place in places]
    phases = [words(samples["phase"][place] or "") for place in places]
    data: list[dict[str, Any]] = [
        {
            "type": "scatter", "mode": "lines", "name": label, "stackgroup": "kinds", "x": at,
            "y": [_mb(filled[name][place]) for place in places], "line": {"width": 1, "color": colour},
            "hovertemplate": "%{y:,.1f} MB",
        }
        for name in kinds for label, colour in [KINDS[name]]
    ]  # fmt: skip
    data.append(
        {
            "type": "scatter", "mode": "lines", "name": "RSS", "x": at, "y": [_mb(totals[place]) for place in places],
            "line": {"width": 1.5, "color": "#808890"}, "customdata": phases,
            "hovertemplate": "%{y:,.1f} MB<br>%{customdata}",
        }
    )  # fmt: skip
    data += _pss(samples, points)
    data += _events(events)
    return {"data": data, "layout": _layout(record, max(times, default=0.0))}


def _unknown(values: Sequence[Any]) -> bool:
    """Whether a column was never read."""
    return bool(values) and all(value is None for value in values)


def _pss(samples: Samples, points: int) -> list[dict[str, Any]]:
    read = [place for place, value in enumerate(samples.get("pss_bytes", ())) if value is not None]
    values, times = ([samples[name][place] for place in read] for name in ("pss_bytes", "t_s"))
    places = kept(times, [values], points)
    line = {
        "type": "scatter", "mode": "markers", "name": "PSS", "x": [round(times[place], 3) for place in places],
        "y": [_mb(values[place]) for place in places], "marker": {"size": 5, "color": "#CC79A7"},
        "hovertemplate": "%{y:,.1f} MB",
    }  # fmt: skip
    return [line] if places else []


def _events(events: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The program's events as marks below the curves. Phases and progress are shown elsewhere."""
    marks = [event for event in events if event["event"] not in ("phase", "progress", "provenance", "start", "end")]
    places = kept([event["t_s"] for event in marks], [], POINTS)
    shown = [marks[place] for place in places]
    line = {
        "type": "scatter", "mode": "markers", "name": "events", "x": [event["t_s"] for event in shown],
        "y": [0] * len(shown), "marker": {"symbol": "triangle-up", "size": 8, "color": "#D55E00"},
        "text": [_describe(event) for event in shown], "hovertemplate": "%{text}",
    }  # fmt: skip
    return [line] if shown else []


def _describe(event: Mapping[str, Any]) -> str:
    """The name of an event with its text and number values."""
    values = {
        key: value
        for key, value in event.items()
        if key not in ("t_s", "event", "pid") and isinstance(value, (str, int, float)) and not key.endswith("_bytes")
    }
    return words(", ".join([event["event"].replace("_", " "), *(f"{key} {value}" for key, value in values.items())]))


def _layout(record: Mapping[str, Any], length_s: float) -> dict[str, Any]:
    shapes: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for number, phase in enumerate(record.get("phases", [])):
        start, end = phase["start_s"], phase["end_s"]
        if number % 2:
            shapes.append(
                {
                    "type": "rect", "xref": "x", "yref": "paper", "x0": start, "x1": end, "y0": 0, "y1": 1,
                    "line": {"width": 0}, "fillcolor": "rgba(128,136,144,0.14)", "layer": "below",
                }
            )  # fmt: skip
        if end - start >= _NAMED_SHARE * length_s and phase["phase"]:
            notes.append(
                {
                    "x": (start + end) / 2, "y": 1, "xref": "x", "yref": "paper", "yanchor": "bottom",
                    "text": words(phase["phase"]), "showarrow": False, "font": {"size": 11},
                }
            )  # fmt: skip
    if limit := record.get("memory_limit_bytes"):
        shapes.append(
            {
                "type": "line", "xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": _mb(limit), "y1": _mb(limit),
                "line": {"dash": "dash", "color": "#C0392B", "width": 2},
            }
        )  # fmt: skip
        notes.append(
            {
                "x": 1, "y": _mb(limit), "xref": "paper", "yref": "y", "xanchor": "right", "yanchor": "bottom",
                "text": f"limit {limit / MB:,.0f} MB", "showarrow": False,
            }
        )  # fmt: skip
    several = (record.get("peak", {}).get("processes") or 0) > 1
    title = "memory, summed over processes (MB)" if several else "memory (MB)"
    return _axes(title) | {"shapes": shapes, "annotations": notes}


def _axes(title: str) -> dict[str, Any]:
    return {
        "height": 404,
        "margin": {"l": 60, "r": 12, "t": 52, "b": 44},  # space above the phase names for Plotly's buttons
        "hovermode": "x unified",
        "hoverdistance": -1,  # a run that changes little has few, distant points
        "xaxis": {"title": {"text": "seconds", "standoff": 4}, "rangemode": "tozero"},
        "yaxis": {"title": {"text": title}, "rangemode": "tozero"},
        "legend": {"orientation": "h", "y": -0.2, "yanchor": "top"},
    }


def _mb(size_bytes: float) -> float:
    return round(size_bytes / MB, 2)
