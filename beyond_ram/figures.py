"""Shared by all figures: style, colours, saving, captions."""

import statistics
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import matplotlib
import pandas as pd

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text
from matplotlib.ticker import Locator, LogLocator, MaxNLocator, NullFormatter

from . import files
from .text import plain
from .units import MB as MB

_MOST_IN_LABEL, _MOST_IN_CAPTION = 200, 5000
WIDE = 6.7
"""Width in inches of two page columns. Text of `_POINTS` stays readable if a figure is shown half as wide."""
ANSWER = 4.0
"""Width in inches of a figure on the first screen: its text has 11 pixels where the figure fills a phone."""
_POINTS = 10
# Characters of such text per inch.
_DENSE = 13


def theme() -> None:
    """Set the style of all figures."""
    sizes = ["font.size", "axes.titlesize", "axes.labelsize", "figure.titlesize", "figure.labelsize"]
    sizes += ["xtick.labelsize", "ytick.labelsize", "legend.fontsize", "legend.title_fontsize"]
    # Do not parse text as formulas: names in the data can contain dollar signs.
    look: dict[str, Any] = {"text.parse_math": False, "figure.dpi": 120, "savefig.dpi": 120}
    look |= {"axes.formatter.limits": (-9, 12), "axes.formatter.useoffset": False}
    look |= {"svg.fonttype": "none", "svg.hashsalt": "beyond-ram", **dict.fromkeys(sizes, _POINTS)}
    sns.set_theme(context="notebook", style="whitegrid", palette="colorblind", rc=look)


def _few_ticks(low: float, high: float, least: int) -> Locator:
    """Where a logarithmic axis has at least `least` ticks, and not many more, whose labels would overlap."""
    for subs in ((1,), (1, 3), (1, 2, 5)):
        locator = LogLocator(10, subs=subs, numticks=5)
        # Within a decade a LogLocator may have many ticks, evenly apart.
        if least <= sum(low <= tick <= high for tick in locator.tick_values(low, high)) <= least + 2:
            return locator
    return MaxNLocator(least + 1)


def _plain_numbers(axis: Axis, *, side_by_side: bool) -> None:
    """Label a logarithmic axis with numbers: its powers of ten would be formulas. Ticks that a figure sets stay."""
    if axis.get_scale() != "log":
        return
    if isinstance(axis.get_major_locator(), LogLocator):
        axis.set_major_locator(_few_ticks(*axis.get_view_interval(), 2 if side_by_side else 3))
    axis.set_major_formatter("{x:,.10g}")
    axis.set_minor_formatter(NullFormatter())


def save(figure: Figure, caption: str, *, svg: str, png: str, caption_file: str) -> None:
    """Write a figure as SVG and PNG, and its caption, each atomically.

    Labels show text from data literally: no formulas, no control characters, limited length.
    """
    for text in figure.findobj(Text):
        text.set_text("\n".join(plain(line, _MOST_IN_LABEL) for line in text.get_text().split("\n")))
    for axes in figure.axes:
        _plain_numbers(axes.xaxis, side_by_side=True)
        _plain_numbers(axes.yaxis, side_by_side=False)
    for path, metadata in ((svg, {"Date": None}), (png, {})):
        with files.whole(path) as partial:
            figure.savefig(partial, bbox_inches="tight", metadata=metadata)
    paragraphs = [plain(" ".join(paragraph.split()), _MOST_IN_CAPTION) for paragraph in caption.strip().split("\n\n")]
    files.write(caption_file, "\n\n".join(paragraphs) + "\n")
    plt.close(figure)


Drawn = tuple[Figure, str] | str
"""A figure and its caption, or the reason for drawing nothing."""
NOT_DRAWN = "Not drawn: "


def not_drawn(reason: str) -> tuple[Figure, str]:
    """Return a placeholder for a figure without data: pages leave it out, but its rule needs the files."""
    figure, axes = plt.subplots(figsize=(8, 2))
    axes.axis("off")
    axes.text(0.5, 0.5, f"{NOT_DRAWN}{reason}", ha="center", va="center", fontsize=13)
    return figure, f"{NOT_DRAWN}{reason}."


def colours(names: Iterable[str]) -> dict[str, Any]:
    """Return a colour for each name."""
    names = list(names)
    return dict(zip(names, sns.color_palette("colorblind", len(names)), strict=True))


FEW = "two points are no plot: the tables have them"
"""Why a figure of fewer than three points is not drawn."""


def two_digits(number: float) -> str:
    """A number with two significant digits, never as a power of ten."""
    return f"{float(f'{number:.2g}'):,.10g}"


def fill(text: str, inches: float) -> str:
    """Break a text into lines of this many inches; no line begins with a percent sign."""
    together = text.replace(" %", "\u00a0%")
    return "\n".join(textwrap.fill(line, int(_DENSE * inches)) for line in together.split("\n"))


def panels(
    count: int, height: float, more: float = 0.6, *, most_columns: int = 2, **options: Any
) -> tuple[Figure, list[Axes]]:
    """Return a figure of `count` panels, row by row, each `height` inches high, plus `more` inches. Options are those
    of `rows`."""
    columns = min(most_columns, count)
    lines = -(-count // columns)
    figure, grid = rows(lines, height * lines + more, columns, **options)
    for axes in grid.flat[count:]:
        axes.axis("off")
    return figure, list(grid.flat[:count])


def rows(count: int, height: float, columns: int = 1, width: float = WIDE, **options: Any) -> tuple[Figure, Any]:
    """Return a figure of the usual width, `height` inches high, and its panels: an array [count, columns]."""
    return plt.subplots(count, columns, figsize=(width, height), squeeze=False, layout="constrained", **options)


def handle(label: str, **style: Any) -> Line2D:
    """Return an entry of a legend."""
    return Line2D([], [], label=label, **style)


def beside(axes: Axes, text: str, place: tuple[float, float], points: float, **style: Any) -> None:
    """Write a text this many points to the right of a place."""
    axes.annotate(text, place, xytext=(points, 0), textcoords="offset points", va="center", **style)


def ranged(axes: Axes, place: float, low: float, middle: float, high: float, colour: Any, n: float) -> None:
    """Draw the median of repeats on a line from the lowest to the highest; hollow for one run."""
    axes.plot([low, high], [place, place], "|-", color=colour, linewidth=2, markersize=9)
    filled = colour if n > 1 else "white"
    axes.plot(middle, place, "o", color=colour, markersize=8, markerfacecolor=filled, markeredgewidth=1.8)


def dots(axes: Axes, place: float, values: Sequence[float], colour: Any, form: str, width: float = 0.3) -> None:
    """Draw the runs of one cell side by side, and their median as a line with its number."""
    middle = statistics.median(values)
    axes.plot([place - width / 2, place + width / 2], [middle, middle], color=colour, linewidth=2)
    beside = [place + width * (i - (len(values) - 1) / 2) / max(len(values), 3) for i in range(len(values))]
    axes.plot(beside, list(values), "o", color=colour, markerfacecolor="none", markersize=6)
    axes.annotate(form.format(middle), (place, max(values)), xytext=(0, 7), textcoords="offset points", ha="center")


def subjects(table: pd.DataFrame) -> "pd.Series[str]":
    """Name the subject of each line: the stack, and the corpus if there is more than one."""
    return table["stack"] if table["corpus"].nunique() < 2 else table["stack"] + ", " + table["corpus"]


def subject_order(table: pd.DataFrame) -> list[str]:
    """Return the subjects in the order of the config."""
    ordered = table.assign(subject=subjects(table), rank=pd.factorize(table["stack"])[0])
    return list(dict.fromkeys(ordered.sort_values("rank", kind="stable")["subject"]))


def input_size(cell: "Mapping[str, object] | pd.Series") -> str:
    return f"{float(str(cell['bytes_in'])) / MB:,.0f} MB"


# Kinds of loaders, in the order of legends.
LOADER_KINDS = {
    "as written": ("as written in the article", "#D55E00"),
    "corrected": ("the same, corrected", "#E69F00"),
    "library": ("library", "#0072B2"),
    "ours": ("class of this project", "#009E73"),
}


def loader_kind(kind: object) -> tuple[str, str]:
    """Return label and colour of a kind of loader; an unknown one is the user's own."""
    return LOADER_KINDS.get(str(kind), ("your own", "#CC79A7"))


def opacity(n: float) -> float:
    """Return the opacity of a value of n repeats: a single run is faint."""
    return 1.0 if n > 1 else 0.35


def counts(values: Iterable[float]) -> str:
    """Write numbers of repeats as `n = 3` or `n = 1 to 3`."""
    numbers = sorted({int(value) for value in values})
    return f"n = {numbers[0]}" if len(numbers) == 1 else f"n = {numbers[0]} to {numbers[-1]}"
