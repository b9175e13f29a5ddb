"""Phases that a program marks: a watcher records them, otherwise they cost nothing, and one file is enough."""

import json
import shutil
import subprocess
import sys
import time

import pytest

import beyond_ram
from beyond_ram.phases import VARIABLE, emit
from beyond_ram.watch import watch

from .conftest import ROOT

PROGRAM = """
import time
with phase("load"):
    held = bytearray(30_000_000)
    with phase("inner"):
        more = bytearray(30_000_000); time.sleep(0.15); del more; time.sleep(0.15)
    time.sleep(0.15)
mark("loaded", rows=3, what=object)
time.sleep(0.1)
"""


def event_phases(record, out):
    events = [json.loads(line) for line in (out / "events.jsonl").read_text().splitlines()]
    return [(event["event"], event.get("phase")) for event in events]


@pytest.mark.slow
@pytest.mark.parametrize("copied", [False, True])
def test_watcher_records_phases_also_from_a_copied_file(copied, tmp_path):
    if copied:
        shutil.copy(ROOT / "beyond_ram" / "phases.py", tmp_path / "phases.py")
    place, package = (tmp_path, "phases") if copied else (ROOT, "beyond_ram")
    program = f"import sys; sys.path.insert(0, {str(place)!r})\nfrom {package} import mark, phase\n{PROGRAM}"
    record = watch([sys.executable, "-I", "-S", "-B", "-c", program], tmp_path / "out")
    assert event_phases(record, tmp_path / "out") == [
        ("start", None), ("phase", "load"), ("phase", "inner"), ("phase", "load"), ("phase", ""), ("loaded", None),
        ("end", None),
    ]  # fmt: skip
    peaks = {}
    for span in record["phases"]:
        peaks[span["phase"]] = max(peaks.get(span["phase"], 0), span["anon_bytes"])
    assert peaks["inner"] > 60e6 > peaks["load"] > 30e6
    assert record["missing"] == []


def test_phases_of_threads_may_end_in_any_order(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "told"))
    first, second = beyond_ram.phase("first"), beyond_ram.phase("second")
    for step in (first.__enter__, second.__enter__):
        step()
    for phase in (first, second):
        phase.__exit__(None, None, None)
    phases = [json.loads(line)["phase"] for line in (tmp_path / "told").read_text().splitlines()]
    assert phases == ["first", "second", "second", ""]


def test_phases_import_little():
    program = "import sys; before = set(sys.modules); import beyond_ram; print(*set(sys.modules) - before)"
    completed = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); {program}"],
        capture_output=True,
        text=True,
        check=True,
    )
    few = {"beyond_ram", "beyond_ram.phases"}
    others = {name for name in completed.stdout.split() if name not in few}
    assert not others & {"json", "subprocess", "tempfile", "beyond_ram.watched_block", "beyond_ram.watch"}


def test_phases_cost_nothing_without_a_watcher(monkeypatch, tmp_path):
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    began = time.process_time()
    for _ in range(10_000):
        with beyond_ram.phase("x"):
            pass
        beyond_ram.mark("x")
    assert time.process_time() - began < 0.5, "more than 50 µs for a phase and a mark"
    assert not list(tmp_path.iterdir())
    assert not emit("x")


def test_failed_writes_do_not_end_the_program(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "no" / "folder"))
    with beyond_ram.phase("x"):
        pass
    assert "was not recorded" in capsys.readouterr().err


BLOCK = """
import json, mmap, os, sys, time
from pathlib import Path
import beyond_ram
from beyond_ram.watch import procfs
environment = dict(os.environ)
begun = procfs.memory(os.getpid()).anon_bytes
with beyond_ram.watching(out=Path(sys.argv[1])) as seen:
    with beyond_ram.phase("held"):
        held = mmap.mmap(-1, 120_000_000, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        for _ in range(120):
            held.write(bytes(1_000_000))
        time.sleep(0.2)
        held.close()
    try:
        seen.anon_bytes
        known = True
    except AttributeError:
        known = False
json.dump(
    {"record": seen.record, "gain_bytes": seen.anon_bytes - begun, "told": str(seen),
     "known_within": known, "same_environment": dict(os.environ) == environment},
    sys.stdout,
)
"""
SPIKE = """
import json, sys, time
import beyond_ram
with beyond_ram.watching() as seen:
    time.sleep(0.1)
    held = bytearray(150_000_000)
    del held
json.dump(seen.record, sys.stdout)
"""


def run_program(program, *arguments):
    """Run a program in a new process, because this one frees memory of other tests; return the JSON that it prints."""
    done = subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


@pytest.mark.slow
def test_watching_measures_a_block(tmp_path):
    seen = run_program(BLOCK, str(tmp_path))
    assert seen["same_environment"]
    assert not seen["known_within"]
    assert 110e6 < seen["gain_bytes"] < 200e6
    phases = seen["record"]["phases"]
    assert [span["phase"] for span in phases] == ["", "held", ""]
    assert phases[1]["anon_bytes"] > phases[2]["anon_bytes"] + 100e6
    assert "peak RSS" in seen["told"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["events.jsonl", "run.json", "samples.csv"]


@pytest.mark.slow
def test_kernel_records_a_spike_in_a_block():
    marks = run_program(SPIKE)["peak"]["hwm_bytes"]["processes"]
    assert 150e6 < max(entry["hwm_bytes"] for entry in marks) < 300e6


def test_error_in_a_block_is_raised():
    with pytest.raises(ZeroDivisionError), beyond_ram.watching() as seen:
        _ = 1 / 0
    assert seen.record["outcome"] == "detached"
