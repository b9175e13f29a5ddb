"""Whether a run is a result depends on how it ended."""

import json
import mmap
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from beyond_ram.experiment import Job
from beyond_ram.measure import cell
from beyond_ram.measure import limit as probing
from beyond_ram.measure.cell import MeasuringError, ProgramError, measure
from beyond_ram.measure.interruption import measure_interrupted
from beyond_ram.measure.limit import measure_limit
from beyond_ram.watch.pagecache import evict, residency

from ..watch.conftest import needs_group
from .conftest import EVENTS, setting_of

# Does its shards and its work. `--stops` names the place where it writes its pid and waits to be killed.
PROGRAM = f"""
import os, pathlib, signal, time
{EVENTS}
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
work, stops = pathlib.Path(given["--work-dir"]), given["--stops"]
runs = len(list(work.glob("begun*"))) + 1
(work / f"begun{{runs}}").touch()
def stop(where):
    if stops == where:
        (pathlib.Path(given["--tell"])).write_text(str(os.getpid()))
        time.sleep(60)
events.phase("shards")
for shard in range(3):
    events.emit("shard", shard=shard, rows=1, from_cache=False, tokenizer_calls=1, cache_bytes_written=0)
    if given["--interrupted"] == "yes" and runs == 1 and shard == 1:
        time.sleep(60)
stop("before")
if stops == "halfway":
    os._exit(0)
events.emit("work", rows=3)
stop("after")
if stops == "crash":
    os.kill(os.getpid(), signal.SIGSEGV)
sys.exit(3 if stops == "status" else 0)
"""


def path_of(cache):
    return f"ended/stack~current/case~flat/cache~{cache}/rep~1"


@pytest.fixture
def setting(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)

    def make(stops, cache="cold", *, interrupted=False):
        arguments = ("--stops", stops, "--tell", str(tmp_path / "pid"), "--interrupted", "yes" if interrupted else "no")
        job = Job(path=path_of(cache), workload="soak", program=str(tmp_path / "program.py"), arguments=arguments)
        job = job.but(stop_after=2 if cache == "interrupted" else None)
        return setting_of(job, tmp_path)

    return make


def end(pid, number):
    """Start a thread that kills the process which writes its id into a file."""

    def once_told():
        until = time.monotonic() + 30
        while time.monotonic() < until:
            if pid.exists() and (text := pid.read_text()):
                os.kill(int(text), number)
                return
            time.sleep(0.01)

    thread = threading.Thread(target=once_told)
    thread.start()
    return thread


def record_of(folder, cache="cold"):
    return json.loads((folder / "runs" / path_of(cache) / "run.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stops", "number"),
    [("before", signal.SIGINT), ("before", signal.SIGTERM), ("before", signal.SIGHUP), ("after", signal.SIGKILL)],
)
def test_run_killed_from_outside_is_no_result(setting, tmp_path, stops, number):
    """Also after its work, because the teardown is measured too."""
    thread = end(tmp_path / "pid", number)
    with pytest.raises(MeasuringError, match=f"{path_of('cold')}: ended from outside, by {number.name}"):
        measure(setting(stops), tmp_path / "runs")
    thread.join()
    assert not list((tmp_path / "runs").rglob("run.json"))
    assert not (tmp_path / "private").exists(), "its private folder is left"


@pytest.mark.slow
@pytest.mark.parametrize("stays", [False, True])
def test_run_is_not_called_cold_where_its_input_stayed_in_the_page_cache(setting, tmp_path, stays):
    rows = tmp_path / "rows"
    rows.write_bytes(os.urandom(1 << 20))
    evict([rows])
    if residency([rows]).resident_bytes:
        pytest.skip("this file system lives in the page cache: nothing can be evicted")
    cell = setting("never")
    with rows.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        assert not stays or mapped.find(b"\0" * 999) < 0  # the kernel evicts no page that is mapped
        measure(replace(cell, job=cell.job.but(reads=(str(rows),))), tmp_path / "runs")
    notes = [note["why"] for note in record_of(tmp_path)["missing"] if note["what"] == "a cold page cache"]
    assert bool(notes) == stays


@pytest.mark.slow
@pytest.mark.parametrize(("stops", "status", "number"), [("crash", None, "SIGSEGV"), ("status", 3, None)])
def test_run_that_fails_after_its_work_is_a_result(setting, tmp_path, stops, status, number):
    measure(setting(stops), tmp_path / "runs")
    record = record_of(tmp_path)
    assert [record[key] for key in ("outcome", "completed_work", "exit_status", "signal")] == [
        "failed",
        True,
        status,
        number,
    ]


@pytest.mark.parametrize(("status", "outcome"), [(3, True), (-6, True), (-9, False), (-15, False)])
def test_program_beside_a_run_that_a_signal_from_outside_ends_is_no_outcome(status, outcome):
    error = cell._error("the run before it failed", status)
    assert isinstance(error, ProgramError) is outcome


@pytest.mark.slow
def test_command_records_a_run_whose_program_failed_in_the_run_before(setting, tmp_path):
    one = setting("status")
    words = ["measure", "--runs", tmp_path / "runs", "--work", one.work, "--python", one.python, "--lock", one.lock]
    job = one.job.but(warmed=True).model_dump_json()
    done = subprocess.run([sys.executable, "-m", "beyond_ram", *words, job], capture_output=True, text=True, check=True)
    assert "the run before it failed" in done.stderr
    record = record_of(tmp_path)
    assert (record["outcome"], record["completed_work"]) == ("failed", False)
    assert "the run before it failed" in record["reason"]


@pytest.mark.slow
def test_run_that_ends_before_its_work_has_failed_whatever_its_status(setting, tmp_path):
    measure(setting("halfway"), tmp_path / "runs")
    record = record_of(tmp_path)
    assert (record["outcome"], record["completed_work"]) == ("failed", False)
    assert record["reason"] and record["peak"]["rss_bytes"] > 0


@pytest.mark.slow
def test_interruption_is_a_result_but_a_killed_rerun_is_not(setting, tmp_path):
    both = [setting("after", cache, interrupted=True) for cache in ("interrupted", "rerun")]
    thread = end(tmp_path / "pid", signal.SIGKILL)
    with pytest.raises(MeasuringError, match=f"{path_of('rerun')}: ended from outside, by SIGKILL"):
        measure_interrupted(*both, tmp_path / "runs")
    thread.join()
    assert record_of(tmp_path, "interrupted")["outcome"] == "interrupted_on_purpose"
    assert not (tmp_path / "runs" / path_of("rerun") / "run.json").exists()
    both = [setting("nowhere", cache, interrupted=True) for cache in ("interrupted", "rerun")]
    measure_interrupted(*both, tmp_path / "runs")
    assert record_of(tmp_path, "rerun")["outcome"] == "completed"


@pytest.mark.slow
@needs_group
def test_probe_killed_from_outside_ends_the_limit_search(setting, tmp_path, monkeypatch):
    probes = []

    def probe(probed, *how):
        probes.append(probed)
        return once(probed if len(probes) > 1 else setting("before"), *how)

    once = probing._probe
    monkeypatch.setattr(probing, "_probe", probe)
    thread = end(tmp_path / "pid", signal.SIGKILL)
    with pytest.raises(MeasuringError, match="ended from outside, by SIGKILL"):
        measure_limit(setting("nowhere"), tmp_path / "runs")
    thread.join()
    assert not list((tmp_path / "runs").rglob("run.json"))
