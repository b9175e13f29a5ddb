"""Every figure with data and without, and captions of known lines."""

import itertools
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from matplotlib.text import Text

from beyond_ram import figures
from beyond_ram.analysis.comparisons import comparisons
from beyond_ram.analysis.runs import runs
from beyond_ram.analysis.streaming import streaming
from beyond_ram.workflow import chapters, make_output

from ..analysis import opposite
from ..analysis.by_hand import streamed, tree

SCRIPTS = sorted((Path(__file__).resolve().parents[2] / "scripts" / "figures").glob("*.py"), key=lambda path: path.stem)
# The cell of a hand-made run.
CELL = {
    "experiment": "growth", "stack": "current", "corpus": "c", "mode": "basic", "shards": 1, "num_files": 2,
    "batch_size": 1000, "writer_batch_size": 1000, "num_proc": 0, "cache": "cold", "rep": 1,
}  # fmt: skip


def stored_table(root, name):
    """The stored table of that name, or else the table that recorded runs make."""
    file = root / "tests/data/tables" / f"{name}.csv"
    return pd.read_csv(file) if file.exists() else opposite.report("original")[name]


def tables_for(root, script, *, lines):
    """The tables that a figure needs, from test data, whole or without a line."""
    needs = chapters.parameters(script, "plot")
    names = [name for name in needs if name not in chapters.RUNS]
    tables = {name: stored_table(root, name) for name in names}
    return {name: table if lines else table.head(0) for name, table in tables.items()} | {
        "records": [],
        "samples": None,
    }


def plotted(script, arguments):
    needs = chapters.parameters(script, "plot")
    return make_output.figure(script, {name: arguments[name] for name in needs})


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_figure_without_data_is_a_reason(root, script):
    reason = plotted(script, tables_for(root, script, lines=False))
    assert isinstance(reason, str)
    assert reason


def with_missing_data(arguments):
    """Add what test data lack: loads from a cold page cache, records and samples."""
    if "loaders" in arguments:
        cold = {"page_cache": "cold", "input_resident_before": 0.0, "input_resident_after": 1.0}
        arguments["loaders"] = pd.concat([arguments["loaders"], arguments["loaders"].assign(**cold)])
    return arguments | {"records": [run()], "samples": Sampled()}


def attempt(outcome, shards, cached):
    """A start of a command under a limit, with its first shards from the cache."""
    done = [{"t_s": n + 0.5, "from_cache": n < cached, **tree(n * 1e6)} for n in range(shards)]
    course = [{"t_s": n, **tree(n * 1e6)} for n in range(4)]
    return {"outcome": outcome, "duration_s": 3.0, "peak_bytes": 4e6, "shards": done, "course": course}


def run():
    record = {
        "cell": CELL, "work": {"bytes_in": 9e6}, "memory_limit_bytes": 5e6, "peak": tree(9e6), "completed_work": True,
        "attempts": [attempt("killed_at_limit", 1, 0), attempt("completed", 2, 1)], "duration_s": 1.0,
        "sampler": {"interval_ms": 20, "samples": 50},
    }  # fmt: skip
    return record, []


class Sampled:
    """Hand-made samples."""

    def of(self, _):
        return pd.DataFrame([{"t_s": n, "phase": "work" if n else "start", **tree(n * 1e6)} for n in range(9)])


# Width of a column of a page in millimetres, and the smallest legible font there in points.
COLUMN_MM, READ_POINTS = 85, 4.5
# Width of a figure of the first screen on a phone of 360 pixels, and its smallest text, in pixels.
PHONE_PIXELS, TEXT_PIXELS = 332, 11
OURS = re.compile(r"\b(?:cells?|stacks?|ladders?)\b", re.IGNORECASE)


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_figure_has_a_caption_and_is_legible_in_one_column(root, tmp_path, script):
    before = plt.get_fignums()
    drawn = plotted(script, with_missing_data(tables_for(root, script, lines=True)))
    assert not isinstance(drawn, str), drawn
    figure, caption = drawn
    assert figure.legends or any(axes.has_data() or axes.patches for axes in figure.axes)
    assert "nan" not in caption.lower().split()
    # An axis is labelled by what it measures, not by one of its values.
    assert [axes.get_xlabel() for axes in figure.axes if "(n = " in axes.get_xlabel()] == []
    figure.savefig(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").stat().st_size > 1000
    scale = COLUMN_MM / 25.4 / figure.get_tightbbox().width
    small = {text.get_text(): text.get_fontsize() * scale for text in figure.findobj(Text) if text.get_text().strip()}
    plt.close(figure)
    assert plt.get_fignums() == before, "a figure is left open"
    assert small
    assert {text: round(points, 1) for text, points in small.items() if points < READ_POINTS} == {}
    if figure.get_figwidth() == figures.ANSWER:
        pixels = PHONE_PIXELS / (COLUMN_MM / 25.4 * 72)
        assert {text: points * pixels for text, points in small.items() if points * pixels < TEXT_PIXELS} == {}
        assert not OURS.findall(" ".join([*small, caption]))


@pytest.mark.parametrize("inches", [1, 2, 3, 3.6])
def test_a_percent_sign_stays_with_its_number(inches):
    text = "june-2023: grows, 16.98 MB per MB of text (95 % 12.15 to 21.80); 16 readings in each of 2 runs"
    assert not any(line.startswith("%") for line in figures.fill(text, inches).split("\n"))


def test_one_run_is_hollow():
    figure, axes = plt.subplots()
    for n in (1, 2):
        figures.ranged(axes, n, 3.0, 4.0, 5.0, "k", n)
    assert [axes.lines[place].get_markerfacecolor() for place in (1, 3)] == ["white", "k"]
    plt.close(figure)


def test_dots_have_a_median_and_do_not_hide_each_other():
    figure, axes = plt.subplots()
    figures.dots(axes, 1, [5.0, 5.0, 9.0], "k", "{:.0f}")
    median, marks = axes.lines
    assert list(median.get_ydata()) == [5, 5]
    assert len(set(marks.get_xdata())) == 3
    figures.dots(axes, 2, [5.0, 9.0], "k", "{:.0f}")
    assert axes.texts[1].get_text() == "7"
    plt.close(figure)
    assert (figures.counts([2, 2]), figures.counts([3, 1])) == ("n = 2", "n = 1 to 3")


def caption_of(root, name, *records):
    """The caption of a drawn figure."""
    tables = {"streaming": streaming(records), "comparisons": comparisons(runs(records), [])}
    drawing = plotted(root / "scripts" / "figures" / f"{name}.py", tables)
    assert not isinstance(drawing, str), drawing
    plt.close(drawing[0])
    return " ".join(drawing[1].split())


def test_two_points_are_no_plot(root):
    streams = [streamed(stack, {"tree": {"main": 6}}, resolved_s=1.0, epoch_s=(2.0,)) for stack in ("a", "b", "c")]
    with pytest.raises(AssertionError, match=figures.FEW):
        caption_of(root, "requests_by_workers", *streams[:2])
    assert caption_of(root, "requests_by_workers", *streams)


def test_a_download_stands_beside_streaming(root):
    streams = [streamed(stack, {"tree": {"main": 6}}, resolved_s=1.0, epoch_s=(2.0,)) for stack in ("a", "b")]
    download = streamed("b", {"tree": {"main": 6}}, resolved_s=8.0, epoch_s=(0.5,), mode="download")
    beside = caption_of(root, "streaming_cost", *streams, download)
    answers = beside.partition(" One pass")[0].split("; ")
    assert {one.partition(":")[0] for one in answers} == {"a", "b", "b, downloaded"}
    assert "downloaded" not in caption_of(root, "streaming_cost", *streams)


def test_runs_with_faults_or_other_buffers_are_no_usual_cost(root):
    streams = [streamed(stack, {"tree": {"main": 6}}) for stack in ("a", "b")]
    usual = caption_of(root, "streaming_cost", *streams)
    for other in ({"fault": "429-every-5"}, {"buffering": "no-pre-buffer"}):
        others = [streamed(stack, {"tree": {"main": 90}}, workers=8, **other) for stack in ("a", "b")]
        assert caption_of(root, "streaming_cost", *streams, *others) == usual


@pytest.mark.parametrize("ends", [(50, 2e7), (210_000, 690_000), (110_000, 980_000), (90_000, 2_100_000), (200, 230)])
def test_labels_of_logarithmic_axes_are_numbers_that_do_not_overlap(tmp_path, ends):
    figures.theme()
    figure, (rates, counts) = plt.subplots(1, 2, figsize=(figures.WIDE, 2), layout="constrained")
    rates.plot(ends, [0, 1])
    rates.set_xscale("log")
    counts.plot([0, 1.6e7], [0, 1])
    files = {ending: str(tmp_path / f"figure.{ending}") for ending in ("svg", "png")}
    figures.save(figure, "Rates.", **files, caption_file=str(tmp_path / "figure.txt"))
    low, high = rates.get_xlim()
    boxes = [one.get_window_extent() for one in rates.get_xticklabels() if low <= one.get_position()[0] <= high]
    assert len(boxes) > 1
    assert not any(one.overlaps(other) for one, other in itertools.pairwise(boxes))
    texts = re.findall(r">([^<>]+)</text>", (tmp_path / "figure.svg").read_text())
    assert ends[1] < 1e6 or "1,000,000" in texts
    assert not [text for text in texts if "e" in text]
