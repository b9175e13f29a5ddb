"""The page of watched runs: charts and text, no markup from runs, no imports of packages."""

import html
import json
import os
import re
import subprocess
import sys

import pytest

from beyond_ram import memory_request
from beyond_ram.chart import extremes
from beyond_ram.run_page import RunFolder, page, side_by_side
from beyond_ram.watch import WatchOptions, watch, write_record

from ..markup import Markup
from ..watch.conftest import needs_group

PROGRAM = "import time; a = bytearray(80_000_000); time.sleep(1); del a; time.sleep(0.2)"
PLANTED = "</script><img src=x onerror=alert(1)> & \u202e{{ 7 }}"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    write_record(watch([sys.executable, "-c", PROGRAM], folder, WatchOptions(interval_ms=2)), folder)
    return RunFolder.read(folder)


def changed(run, **fields):
    """Return the run with other fields in its record."""
    return RunFolder(run.folder, {**run.record, **fields}, run.samples, run.events)


def rows_of(**runs):
    return {row[0]: row[1:] for row in side_by_side.cells(runs)}


def highest(points):
    return max(size for _, size in points)


@pytest.mark.slow
@needs_group
def test_kept_memory_and_the_group_come_first_with_their_peaks(run):
    charts = Markup(page.html({"one": run}, None)).charts
    kept, kinds = ({line["name"]: line["points"] for line in chart} for chart in charts)
    assert highest(kept["kept"]) == pytest.approx(max(run.samples["kept_bytes"]) / 1e6, abs=0.01)
    assert highest(kept["kept"]) == pytest.approx(run.record["peak"]["kept"]["kept_bytes"] / 1e6, rel=0.02)
    assert highest(kept["group, with page cache"]) >= highest(kept["kept"])
    assert highest(kinds["anonymous"]) > 80
    assert highest(kinds["RSS"]) == pytest.approx(run.record["peak"]["rss_bytes"] / 1e6, abs=0.01)


def test_limit_and_memory_request_are_lines(run):
    shown = page.html({"one": changed(run, memory_limit_bytes=123 << 20)}, None)
    request = run.request
    assert request
    assert shown.count('class="mark limit"') == shown.count('class="mark ask"') == 2  # for wide and for narrow windows
    assert "limit: 129 MB" in shown
    assert f"#SBATCH --mem={memory_request.mem(request.request_bytes)}" in shown


def test_limit_far_above_is_text_and_not_a_line(run):
    shown = page.html({"one": changed(run, memory_limit_bytes=64 << 30)}, None)
    assert 'class="mark limit"' not in shown
    assert "limit: 68.7 GB" in shown


def test_why_held_by_and_forks_are_text(run):
    shares = [{"pid": 1, "name": "parent", "bytes": 60_000_000}, {"pid": 2, "name": "child", "bytes": 40_000_000}]
    growth = {"bytes_per_s": 36_000_000, "over_s": 20.0, "now_bytes": 1, "reaches_in_s": 1800.0}
    growth |= {"ceiling": "machine", "ceiling_bytes": 64_000_000_000}
    peak = run.record["peak"] | {"held_by": {"anon_bytes": shares}, "processes": 2, "anon_bytes": 100_000_000}
    peak |= {"shared_anon_bytes": 50_000_000, "copied_on_write_bytes": 30_000_000}
    text = Markup(page.html({"one": changed(run, outcome="detached", peak=peak, growth=growth)}, None)).text
    for part in ("36 MB/s", "64 GB", "30 min", "copied on write", "50 MB", "parent (1)", "child (2)"):
        assert part in text


def test_markup_in_a_run_is_text(run, tmp_path):
    def page_with(planted):
        held_by = {"anon_bytes": [{"pid": n, "name": planted, "bytes": 9} for n in (1, 2)]}
        fields = {
            "phases": [{**run.record["phases"][0], "phase": planted}],
            "peak": run.record["peak"] | {"held_by": held_by},
        }
        other = changed(run, command=[planted], reason=planted, provenance={"versions": {planted: planted}}, **fields)
        return page.html({planted: other, "two": other}, tmp_path / "page.html")

    planted, harmless = Markup(page_with(PLANTED)), Markup(page_with("harmless"))
    assert planted.elements == harmless.elements
    assert "onerror=alert(1)" in planted.text
    assert "\u202e" not in page_with(PLANTED)


@pytest.mark.slow
def test_few_points_keep_every_extreme():
    points = [(n / 100, float((n * 7919) % 1000)) for n in range(20_000)]
    points[12_345] = (123.45, 5000.0)
    places = extremes(points, bins=50)
    assert {0, 12_345, 19_999} <= places
    assert len(places) <= 102
    assert extremes(points[:10], bins=50) == set(range(10))
    assert extremes([], bins=50) == set()


def test_a_page_links_to_files_that_are_kept(run):
    target = run.folder.parent / "page.html"
    links = re.findall('<a href="([^"]*)"', page.html({"one": run}, target))
    assert [(run.folder.parent / link).is_file() for link in links] == [True] * 3
    assert "<a " not in page.html({"one": run}, None)


def test_change_from_run_to_run_is_shown(run):
    rows = rows_of(a=run, b=changed(run, duration_s=2 * run.record["duration_s"]))
    assert rows["took"][2] == "2.0x"
    assert rows["kept, peak"][2] == "same"


def test_growth_of_a_short_run_is_unknown(run):
    # A busy machine may make the run long.
    short, growing = (changed(run, duration_s=0.1, growth=growth) for growth in (None, {"bytes_per_s": 36_000_000}))
    assert rows_of(a=short, b=growing)["growth at the end"] == ["unknown", "36 MB/s", ""]


def test_runs_side_by_side_name_what_their_requests_lack(run):
    kept = {"basis": "group", "at_kept": {}, "whole": True, "kept_upper_bound_bytes": None}
    kept = run.record["peak"]["kept"] | kept
    lacking = changed(run, peak=run.record["peak"] | {"uncharged_bytes": 400_000_000, "kept": kept})
    failed = changed(run, exit_status=1, outcome="failed")
    lines = [*side_by_side.lines({"a": lacking, "b": failed})]
    assert any(line.startswith("a: without up to 400 MB") for line in lines)
    assert any(line.startswith("b: at least") for line in lines)
    request = rows_of(a=run, b=failed)["ask for"]
    assert [one.startswith("at least") for one in request] == [False, True, False] and not request[2]


def test_waiting_of_the_machine_is_no_waiting_of_a_run(run):
    def waited(of):
        one = changed(run, pressure={"of": of, "some_s": 2.0, "full_s": 1.0})
        return "waited for memory" in rows_of(a=one, b=one)

    assert [waited(of) for of in ("group", "around", "machine")] == [True, False, False]


WITHOUT = """
import sys
from beyond_ram import cli
code = cli.main(sys.argv[1:])
others = {one.partition('.')[0] for one in sys.modules} - sys.stdlib_module_names - {'beyond_ram', '__main__'}
installed = [one for one in others if 'site-packages' in str(getattr(sys.modules[one], '__file__', ''))]
print('installed:', [one for one in installed if not one.startswith(('_', 'sitecustomize'))])
sys.exit(code)
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", ["watch", "show"])
def test_no_installed_package_is_imported(command, run, tmp_path):
    words = {
        "watch": ["watch", "--html", "page.html", "--", sys.executable, "-c", "import time; time.sleep(0.3)"],
        "show": ["show", str(run.folder), "--html", "page.html"],
    }[command]
    done = subprocess.run([sys.executable, "-c", WITHOUT, *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "installed: []" in done.stdout
    assert os.path.getsize(tmp_path / "page.html") > 5000  # noqa: PTH202
    assert html.unescape((tmp_path / "page.html").read_text()).count("<svg") >= 2


def test_run_that_was_attached_to_is_read(run, tmp_path):
    for name in ("samples.csv", "events.jsonl"):
        (tmp_path / name).write_bytes((run.folder / name).read_bytes())
    record = {**run.record, "completed_work": None, "outcome": "ended"}
    (tmp_path / "run.json").write_text(json.dumps(record))
    assert "ended" in page.html({"one": RunFolder.read(tmp_path)}, None)
