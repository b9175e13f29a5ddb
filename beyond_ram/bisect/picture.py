"""The picture of a search: each metric over all releases, every run a mark, every step a line."""

import statistics
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from ..figures import MB, WIDE, save, theme
from ..measure.plan import COMPLETED
from ..measure.screen import ANSWER, OUTCOME
from ..metrics import METRICS
from .result import NAMES, SearchResult

# Labels of releases that have room.
_LABELS = 24
_MOST_PANELS = 4


def draw(result: SearchResult, out: Path) -> None:
    """Write bisect.svg and bisect.png."""
    theme()
    stepped = dict.fromkeys(step.interval.metric for step in result.steps)
    numbers = [metric for metric in (*stepped, *result.search.metrics) if metric not in (OUTCOME, ANSWER)]
    numbers = [metric for metric in dict.fromkeys(numbers) if _points(result, metric)]
    panels = numbers[: max(1, min(_MOST_PANELS, len([one for one in stepped if one in numbers])))]
    figure, axes = plt.subplots(max(1, len(panels)), 1, figsize=(WIDE, 1.2 + 2.2 * max(1, len(panels))), sharex=True,
                                squeeze=False, layout="constrained")  # fmt: skip
    for metric, axis in zip(panels, axes[:, 0], strict=False):
        _panel(result, metric, axis)
    _releases(result, axes[-1, 0])
    caption = f"{result.ladder.script.name} over releases of {result.package}; a mark a run, grey where it failed"
    save(figure, caption, svg=str(out / "bisect.svg"), png=str(out / "bisect.png"),
         caption_file=str(out / "bisect.txt"))  # fmt: skip
    plt.close(figure)


def _points(result: SearchResult, metric: str) -> list[tuple[int, float]]:
    places = {version: number for number, version in enumerate(result.ladder.releases.versions)}
    return [
        (places[version], run.values[metric])
        for version, runs in result.runs.items()
        if version in places
        for run in runs
        if metric in run.values
    ]


def _panel(result: SearchResult, metric: str, axis: Any) -> None:
    scale, unit = (MB, "MB") if METRICS[metric].unit == "bytes" else (1.0, METRICS[metric].unit)
    points = _points(result, metric)
    axis.plot([x for x, _ in points], [y / scale for _, y in points], "o", alpha=0.7, markersize=5, zorder=3)
    places = sorted({*dict(points)})
    means = [(x, statistics.median(y for place, y in points if place == x) / scale) for x in places]
    axis.plot([x for x, _ in means], [y for _, y in means], "-", linewidth=1, alpha=0.6)
    for step in result.steps:
        if step.interval.metric == metric:
            places = [result.ladder.releases.versions.index(v) for v in (step.interval.first, step.interval.second)]
            axis.axvspan(*places, color="#D55E00", alpha=0.25, linewidth=0)
    axis.set_ylim(bottom=0)
    axis.set_ylabel(f"{NAMES.get(metric) or METRICS[metric].label}\n({unit})")


def _releases(result: SearchResult, axis: Any) -> None:
    versions = result.ladder.releases.versions
    for place, version in enumerate(versions):
        runs = result.runs.get(version, [])
        if runs and all(run.outcome != COMPLETED for run in runs):
            axis.plot([place], [0], "X", color="#777777", clip_on=False, zorder=4)
    tested = [place for place, version in enumerate(versions) if version in result.runs]
    every = -(-len(tested) // _LABELS)
    ends = {versions.index(v) for step in result.steps for v in (step.interval.first, step.interval.second)}
    labelled = [place for number, place in enumerate(tested) if not number % every or place in ends]
    names = [
        versions[place] + ("*" if result.ladder.releases.release(versions[place]).yanked else "") for place in labelled
    ]
    axis.set_xticks(labelled, names, rotation=60, ha="right")
    axis.set_xticks(range(len(versions)), minor=True)
    axis.set_xlabel(f"releases of {result.package} (* yanked; ticks without a name were not run)")
