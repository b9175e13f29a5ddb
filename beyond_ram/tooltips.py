"""Tooltips of figures: a title for every mark. Browsers show it under the pointer, and screen readers read it."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.collections import PathCollection
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from .text import plain

_SVG = "http://www.w3.org/2000/svg"
# More marks than this form a cloud, in which nobody points at a single one.
_MOST_MARKS, _MOST_LETTERS = 500, 200
Titles = Mapping[str, Sequence[str]]


def titles(figure: Figure) -> Titles:
    """The text of each mark in drawing order, by the name of its artist."""
    by_name: dict[str, Sequence[str]] = {}
    for number, (artist, texts) in enumerate(_marked(figure)):
        if 0 < len(texts) <= _MOST_MARKS:
            name = f"values-{number}"
            artist.set_gid(name)  # type: ignore[attr-defined]
            by_name[name] = [plain(text, _MOST_LETTERS) for text in texts]
    return by_name


def write(svg: Path, by_name: Titles) -> None:
    """Add the titles to a saved drawing. If an artist drew another number of marks, it gets none."""
    tree = ET.parse(svg)
    for element in tree.iter(f"{{{_SVG}}}g"):
        texts = by_name.get(element.get("id", ""), ())
        marks = list(element.iter(f"{{{_SVG}}}use")) or [one for one in element if one.tag == f"{{{_SVG}}}path"]
        if len(marks) == len(texts):
            for mark, text in zip(marks, texts, strict=True):
                ET.SubElement(mark, f"{{{_SVG}}}title").text = text
    ET.register_namespace("", _SVG)
    ET.register_namespace("xlink", "http://www.w3.org/1999/xlink")
    tree.write(svg, encoding="utf-8", xml_declaration=True)


def _marked(figure: Figure) -> Iterator[tuple[object, list[str]]]:
    """Artists with marks, and a text for each mark."""
    for axes in figure.axes:
        for line in axes.lines:
            if line.get_marker() not in (None, "None", "", " "):
                yield line, _points(axes, str(line.get_label()), np.asarray(line.get_xydata(), float))
        for collection in axes.collections:
            if isinstance(collection, PathCollection):
                offsets: Any = np.ma.filled(np.ma.asarray(collection.get_offsets(), float), np.nan)
                yield collection, _points(axes, str(collection.get_label()), offsets)
        for container in axes.containers:
            if isinstance(container, BarContainer):
                for bar in container:
                    across = container.orientation == "horizontal"
                    size = bar.get_width() if across else bar.get_height()
                    axis, value_axis = (axes.yaxis, axes.xaxis) if across else (axes.xaxis, axes.yaxis)
                    middle = bar.get_y() + bar.get_height() / 2 if across else bar.get_x() + bar.get_width() / 2
                    named = [str(container.get_label()), _value(axis, middle), _value(value_axis, size)]
                    yield bar, [_joined(named)]


def _points(axes: Axes, label: str, points: "np.ndarray[tuple[int, int], np.dtype[np.float64]]") -> list[str]:
    return [
        _joined([label, _value(axes.xaxis, x), _value(axes.yaxis, y)])
        for x, y in points
        if np.isfinite(x) and np.isfinite(y)
    ]


def _joined(parts: Sequence[str]) -> str:
    """Join the name of the series, if it has one, and the values."""
    return "; ".join(part for part in parts if part and not part.startswith("_"))


def _value(axis: Axis, value: float) -> str:
    """A value on an axis in words: the nearest tick if ticks have names, else the number with its label."""
    ticks = {
        float(place): label.get_text() for place, label in zip(axis.get_ticklocs(), axis.get_ticklabels(), strict=False)
    }
    named = {place: text for place, text in ticks.items() if text and not _number(text)}
    if named:
        nearest = min(named, key=lambda place: abs(place - value))
        return " ".join(named[nearest].split()) if abs(nearest - value) < 0.5 else ""
    return f"{axis.get_label_text()} {value:,.4g}".strip()


def _number(text: str) -> bool:
    try:
        float(text.replace(",", "").replace("\N{MINUS SIGN}", "-").rstrip("%"))
    except ValueError:
        return False
    return True
