"""The figure of a run: what Plotly takes, the peak of every kind in it, limit, phases, events."""

import sys
from pathlib import Path

import plotly.graph_objects as go
import pytest

from beyond_ram.report.run import Run, drawn, view
from beyond_ram.report.timeline import timeline
from beyond_ram.units import MB
from beyond_ram.watch import watch, write_record

PROGRAM = "import time; a = bytearray(80_000_000); time.sleep(0.2); del a; time.sleep(0.2)"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("run")
    write_record(watch([sys.executable, "-c", PROGRAM], folder, interval_ms=2), folder)
    return Run.read(folder, of_a_cell=False)


def test_the_peak_of_each_kind_is_drawn(run: Run) -> None:
    figure = timeline(run.samples, run.record, run.events, points=10)
    go.Figure(figure)  # raises where Plotly knows no such thing
    lines = {line["name"]: line for line in figure["data"]}
    for name in ("anonymous", "file"):
        column = {"anonymous": "anon_bytes", "file": "file_bytes"}[name]
        assert max(lines[name]["y"]) == pytest.approx(max(run.samples[column]) / MB, abs=0.01)
    assert max(lines["RSS"]["y"]) == pytest.approx(run.record["peak"]["rss_bytes"] / MB, abs=0.01)
    assert max(lines["anonymous"]["y"]) > 80
    assert len(lines["RSS"]["x"]) < len(run.samples["t_s"])


def test_a_limit_is_a_line_with_its_size(run: Run) -> None:
    record = {**run.record, "memory_limit_bytes": 123_000_000}
    layout = timeline(run.samples, record, [])["layout"]
    assert [shape["y0"] for shape in layout["shapes"] if shape["type"] == "line"] == [123.0]
    assert "limit 123 MB" in [note["text"] for note in layout["annotations"]]
    assert not [shape for shape in drawn(run)["layout"]["shapes"] if shape["type"] == "line"]


def test_phases_and_events_are_told_and_what_is_progress_is_the_curve(run: Run) -> None:
    span = {"start_s": 0.0, "end_s": 0.3, "phase": "map <0>"}
    events = [
        {"t_s": 0.1, "event": "shard", "shard": 3, "rss_bytes": 9},
        {"t_s": 0.2, "event": "progress", "bytes_in": 1},
    ]
    figure = timeline(run.samples, {**run.record, "phases": [span]}, events)
    assert [note["text"] for note in figure["layout"]["annotations"]] == ["map &lt;0&gt;"]
    assert [line["text"] for line in figure["data"] if line["name"] == "events"] == [["shard, shard 3"]]


def test_a_page_of_a_run_that_is_not_kept_links_to_no_file(run: Run, tmp_path: Path) -> None:
    assert view(run, "it", None)["files"] == []
    kept = dict(view(run, "it", run.folder.parent / "page.html")["files"])
    assert (run.folder.parent / kept["samples.csv"]).samefile(run.folder / "samples.csv")
