"""The page of a run, with one process and with several."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

from beyond_ram.analysis.runs import runs
from beyond_ram.records.run_folder import RunFolder
from beyond_ram.report.cells import Cells
from beyond_ram.report.run import view

from ..analysis.by_hand import MB, record

FORKED = {"rss_bytes": 900 * MB, "anon_bytes": 447 * MB, "file_bytes": 290 * MB, "pss_bytes": 400 * MB, "processes": 2}


def run(**peak):
    return RunFolder(Path("run"), record(peak=FORKED | peak), {"t_s": [], "pss_bytes": [None, 4.0, None, 3.0]}, [])


def test_the_chart_of_a_run_has_its_limit_phases_and_events():
    drawn = run(processes=1)
    samples = {"t_s": [0.0, 1.0], **{name: [1e6, 9e6] for name in ("anon_bytes", "file_bytes", "shmem_bytes")}}
    samples |= {"rss_bytes": [3e6, 27e6], "pss_bytes": [None, 5e6]}
    phases = [{"phase": "map <0>", "start_s": 0.0, "end_s": 1.0}]
    events = [{"t_s": 0.5, "event": "shard", "shard": 3, "rss_bytes": 9}, {"t_s": 0.7, "event": "progress"}]
    more = {"memory_limit_bytes": 30 << 20, "phases": phases}
    chart = view(RunFolder(drawn.folder, {**drawn.record, **more}, samples, events), "Repeat 1", Path("page.html"))[
        "chart"
    ]
    assert "limit: 31 MB" in chart
    assert "map &lt;0&gt;" in chart
    assert set(re.findall("<title>(.*?)</title>", chart)) == {"shard, shard 3"}
    (points,) = re.findall('application/json">(.*?)</script>', chart)
    assert {line["name"]: line["points"][-1] for line in json.loads(points)} == {
        "anonymous": [1.0, 9.0], "shared": [1.0, 9.0], "file": [1.0, 9.0], "RSS": [1.0, 27.0], "PSS": [1.0, 5.0]
    }  # fmt: skip


def test_a_run_that_never_began_has_no_readings():
    record = dict.fromkeys(("exit_status", "signal", "duration_s", "cpu_s"))
    record |= {"outcome": "not_applicable", "reason": "no accelerator", "completed_work": False, "command": ["train"]}
    record |= {"provenance": {"kernel": "6.1"}, "work": {}, "peak": {}, "sampler": {}}
    shown = view(RunFolder(Path("run"), record, {"t_s": []}, []), "Repeat 1", Path("page.html"))
    assert shown["outcome"] == "not applicable: no accelerator"
    assert "train" in shown["details"] and "6.1" in shown["details"]
    assert "All readings" not in shown["details"]


def test_request_of_a_cell_is_the_largest_of_its_repeats_and_stands_in_table_runs():
    read = [run(anon_upper_bound_bytes=size * MB, file_bytes=0) for size in (100, 200)]
    cell = {"experiment": "e", "stack": "s"}
    line = Cells._line(SimpleNamespace(words=lambda cell: ""), "e/s", cell, read, 0)
    requests = runs([(one.record, []) for one in read])["request_bytes"].tolist()
    assert 1.1 * 100 * MB < requests[0] < 1.2 * 100 * MB
    assert line["ask"] * (1 << 20) == requests[1] > 1.9 * requests[0]
    killed = record(peak=read[0].record["peak"], outcome="killed_at_limit", completed_work=False)
    assert runs([(killed, [])])["request_bytes"].isna().all(), "only a lower bound"
