"""Charts of memory over time as SVG: lines, stacked areas, levels as dashed lines, phases as bands, events as marks.

Each chart is drawn twice, for wide and narrow windows; chart.css shows one of them. The points follow as JSON, for the
readings that chart.js shows under the pointer. Used by the pages of watched runs and by the report.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

from .text import plain
from .units import short_size

Points = Sequence[tuple[float, float]]
STYLE, SCRIPT = (Path(__file__).with_suffix(ending) for ending in (".css", ".js"))
"""What a page with charts needs."""
# Width and height by class of chart.css. Text is 15 high.
_SIZES = {"broad": (1000.0, 340.0), "narrow": (460.0, 340.0)}
_LEFT, _RIGHT, _TOP, _BOTTOM = 76.0, 14.0, 26.0, 30.0
_LETTER = 9.5
_BINS, _TICKS, _EVENTS = 300, 5, 200
# A limit more than three times above all used memory would flatten the curves. Then only the legend shows it.
_FAR_ABOVE = 3


@dataclass(frozen=True)
class Line:
    name: str
    points: Points
    colour: str
    """A colour class of chart.css."""
    stacked: bool = False
    """Draw it as an area on top of the stacked lines before it, which have the same times."""
    dots: bool = False
    """Draw dots: readings so rare that nothing is known between them."""


@dataclass(frozen=True)
class Mark:
    """A horizontal line at a limit or a request."""

    name: str
    size_bytes: float
    colour: str

    @property
    def label(self) -> str:
        return f"{self.name}: {short_size(self.size_bytes)}"


def extremes(points: Points, bins: int) -> set[int]:
    """The indices of the minimum and maximum in each time bin, and of both ends. All indices if there are few
    points."""
    if len(points) <= 2 * bins:
        return set(range(len(points)))
    begin, end = points[0][0], points[-1][0]
    width = (end - begin) / bins or 1.0
    least: dict[int, int] = {}
    largest: dict[int, int] = {}
    for place, (t_s, size) in enumerate(points):
        number = int((t_s - begin) / width)
        if size < points[least.setdefault(number, place)][1]:
            least[number] = place
        if size > points[largest.setdefault(number, place)][1]:
            largest[number] = place
    return {0, len(points) - 1, *least.values(), *largest.values()}


def chart(
    lines: Sequence[Line],
    label: str,
    *,
    marks: Sequence[Mark] = (),
    phases: Sequence[Mapping[str, Any]] = (),
    events: Sequence[tuple[float, str]] = (),
    bins: int = _BINS,
) -> str:
    """A chart with its legend, or a sentence if there is nothing to draw.

    `events` are times and words. Of each line the extremes of `bins` parts are drawn.
    """
    thin = _thinned([one for one in lines if one.points], bins)
    if not thin:
        return "<p>Nothing was sampled.</p>"
    most = max(size for one in _stacked(thin) for _, size in one.points)
    shown = [mark for mark in marks if mark.size_bytes <= _FAR_ABOVE * most]
    legend = [f'<span class="key {one.colour}">{_text(one.name)}</span>' for one in thin]
    for mark in marks:
        name = mark.label if mark in shown else f"{mark.label}, above this chart"
        legend.append(f'<span class="key dashed {mark.colour}">{_text(name)}</span>')
    if events:
        legend.append('<span class="key event">events</span>')
    some = events[:: -(-len(events) // _EVENTS) or 1]
    drawn = [_Canvas(name, thin, shown, most).svg(label, phases, some) for name in _SIZES]
    data = [
        {"name": plain(one.name, 60), "points": [[round(t_s, 3), round(size / 1e6, 2)] for t_s, size in one.points]}
        for one in thin
    ]
    points = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return (
        f'<figure class="chart"><p class="legend">{" ".join(legend)}</p>{"".join(drawn)}'
        f'<output class="reading"></output><script type="application/json">{points}</script></figure>'
    )


class _Canvas:
    """One drawing in one size."""

    def __init__(self, name: str, lines: Sequence[Line], marks: Sequence[Mark], most: float) -> None:
        self.name, self.lines, self.marks = name, _stacked(lines), marks
        self.wide, self.high = _SIZES[name]
        self.end_s = max(one.points[-1][0] for one in lines) or 1.0
        highest = max([most, *(mark.size_bytes for mark in marks)])
        self.top = _nice(1.03 * highest / _TICKS) * _TICKS

    def x(self, t_s: float) -> float:
        return _LEFT + (self.wide - _LEFT - _RIGHT) * min(t_s / self.end_s, 1.0)

    def y(self, size: float) -> float:
        return _TOP + (self.high - _TOP - _BOTTOM) * (1 - size / self.top)

    def svg(self, label: str, phases: Iterable[Mapping[str, Any]], events: Iterable[tuple[float, str]]) -> str:
        parts = [*self._phases(phases), *self._sizes(), *self._times(), *self._lines(), *self._marks()]
        parts += self._events(events)
        ends = f'data-left="{_LEFT}" data-right="{self.wide - _RIGHT}" data-end="{self.end_s}"'
        return (
            f'<svg class="{self.name}" viewBox="0 0 {self.wide:.0f} {self.high:.0f}" {ends} role="img" '
            f'aria-label="{_text(label)}">{"".join(parts)}'
            f'<path class="cursor" d="M0 {_TOP}V{self.high - _BOTTOM}"/></svg>'
        )

    def _path(self, points: Iterable[tuple[float, float]]) -> str:
        return "L".join(f"{self.x(t_s):.1f} {self.y(size):.1f}" for t_s, size in points)

    def _lines(self) -> Iterator[str]:
        below: Points = ()
        for one in self.lines:
            if one.stacked:
                floor = below or [(t_s, 0.0) for t_s, _ in (one.points[0], one.points[-1])]
                yield f'<path class="area {one.colour}" d="M{self._path([*one.points, *reversed(floor)])}Z"/>'
                below = one.points
            if one.dots:
                dots = "".join(f"M{self._path([point])}h0" for point in one.points)
                yield f'<path class="line dots {one.colour}" d="{dots}"/>'
            else:
                yield f'<path class="line {one.colour}" d="M{self._path(one.points)}"/>'

    def _marks(self) -> Iterator[str]:
        for mark in self.marks:
            at, right = self.y(mark.size_bytes), self.wide - _RIGHT
            yield f'<path class="mark {mark.colour}" d="M{_LEFT} {at:.1f}H{right}"/>'
            text = f'class="{mark.colour}" x="{right - 4}" y="{at - 5:.1f}" text-anchor="end"'
            yield f"<text {text}>{_text(mark.label)}</text>"

    def _events(self, events: Iterable[tuple[float, str]]) -> Iterator[str]:
        for t_s, words in events:
            place = f"M{self.x(t_s):.1f} {self.high - _BOTTOM - 9:.1f}l5 9h-10z"
            yield f'<path class="event" d="{place}"><title>{_text(words)}</title></path>'

    def _phases(self, phases: Iterable[Mapping[str, Any]]) -> Iterator[str]:
        for number, phase in enumerate(phases):
            begin, end = self.x(phase["start_s"] or 0.0), self.x(phase["end_s"] or self.end_s)
            if number % 2:
                size = f'width="{end - begin:.1f}" height="{self.high - _TOP - _BOTTOM}"'
                yield f'<rect class="phase" x="{begin:.1f}" y="{_TOP}" {size}/>'
            name, room = plain(phase["phase"], 200), int((end - begin) / _LETTER)
            if name and room >= min(6, len(name)):
                shown = name if len(name) <= room else name[: room - 1] + "…"
                place = f'x="{(begin + end) / 2:.1f}" y="{_TOP - 8}"'
                yield f'<text class="axis" {place} text-anchor="middle">{escape(shown)}</text>'

    def _sizes(self) -> Iterator[str]:
        for number in range(_TICKS + 1):
            size = number * self.top / _TICKS
            at = self.y(size)
            yield f'<path class="grid" d="M{_LEFT} {at:.1f}H{self.wide - _RIGHT}"/>'
            place = f'x="{_LEFT - 6}" y="{at + 5:.1f}"'
            yield f'<text class="axis" {place} text-anchor="end">{short_size(size) if size else 0}</text>'

    def _times(self) -> Iterator[str]:
        name, unit = next(
            one for one in (("h", 3600.0), ("min", 60.0), ("s", 1.0)) if self.end_s >= 2 * one[1] or one[1] == 1
        )
        every = _nice(self.end_s / unit / (self.wide / 150)) * unit
        last = int(self.end_s / every)
        for number in range(last + 1):
            at, text = self.x(number * every), f"{number * every / unit:g}" + (f" {name}" if number == last else "")
            anchor = "end" if at > self.wide - 40 else "middle"
            yield f'<text class="axis" x="{at:.1f}" y="{self.high - 8}" text-anchor="{anchor}">{text}</text>'


def _thinned(lines: Sequence[Line], bins: int) -> list[Line]:
    """The same lines with fewer points. Stacked lines keep common times."""
    together: set[int] = set().union(*(extremes(one.points, bins) for one in lines if one.stacked))
    return [
        replace(one, points=[one.points[at] for at in sorted(together if one.stacked else extremes(one.points, bins))])
        for one in lines
    ]


def _stacked(lines: Sequence[Line]) -> list[Line]:
    """The upper edge of each stacked line."""
    edges, below = [], None
    for one in lines:
        points = one.points
        if one.stacked:
            points = [
                (t_s, size + under)
                for (t_s, size), (_, under) in zip(points, below or [(0, 0.0)] * len(points), strict=True)
            ]
            below = points
        edges.append(replace(one, points=points))
    return edges


def _nice(size: float) -> float:
    """Round up to 1, 2, 2.5 or 5 times a power of ten."""
    if size <= 0:
        return 1.0
    power: float = 10 ** math.floor(math.log10(size))
    return next(step * power for step in (1, 2, 2.5, 5, 10) if step * power >= size * (1 - 1e-9))


def _text(text: str) -> str:
    return escape(plain(text, 120))
