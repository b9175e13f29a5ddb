"""Events are read at once and in order, and each phase has a first reading of its own."""

import os
import signal
import time

import pytest

import beyond_ram
from beyond_ram.watch import events
from beyond_ram.watch.instrument import Instrument

from .conftest import events_in

SAY = """
import json, os, sys, time
def say(event, **fields):
    fd = os.open(os.environ['BEYOND_RAM_EVENTS'], os.O_WRONLY | os.O_APPEND)
    line = json.dumps({'monotonic_s': time.monotonic(), 'event': event, 'pid': os.getpid(), **fields})
    os.write(fd, line.encode() + b'\\n')
    os.close(fd)
"""


# Ten phases, each of which lasts until its event was read, beside other processes.
PHASES = (
    SAY
    + """
import signal
others = []
for _ in range(int(sys.argv[2])):
    others.append(os.fork())
    if not others[-1]: signal.pause()
signal.alarm(60)
for n in range(10):
    say('phase', phase=str(n))
    os.read(int(sys.argv[1]), 1)
for other in others:
    os.kill(other, signal.SIGKILL)
    os.wait()
"""
)


@pytest.mark.slow
@pytest.mark.parametrize("others", [0, 63], ids=["one process", "a reading takes long"])
def test_phases_are_read_at_once_at_any_interval(watched, others):
    read, write = os.pipe()
    os.set_inheritable(read, True)
    try:
        record = watched(PHASES, str(read), str(others), interval_ms=300_000, on_event=lambda *_: os.write(write, b"."))
    finally:
        os.close(read)
        os.close(write)
    assert record["exit_status"] == 0, "an event was read only with the next sample"
    assert record["peak"]["processes"] == others + 1
    assert [span["phase"] for span in record["phases"]] == ["", *map(str, range(10))]
    assert all(span["hwm_exact"] for span in record["phases"])


@pytest.mark.slow
def test_simultaneous_phases_are_kept_apart(watched, tmp_path):
    record = watched(SAY + "say('phase', phase='a'); say('phase', phase='b'); say('work', rows=3)\ntime.sleep(0.2)")
    assert [span["phase"] for span in record["phases"]] == ["", "a", "b"]
    assert record["completed_work"] is True
    assert record["work"] == {"rows": 3}
    assert [event["event"] for event in events_in(tmp_path / "out")] == ["start", "phase", "phase", "work", "end"]


@pytest.mark.slow
def test_flood_of_events_does_not_make_the_watcher_busy(watched):
    record = watched(SAY + "for n in range(20000):\n say('row', n=n)", interval_ms=50)
    assert record["sampler"]["samples"] < 210 * record["duration_s"] + 10


@pytest.mark.slow
@pytest.mark.parametrize("place", ["scripts/workloads", "."], ids=["events.py", "beyond_ram"])
def test_mark_waits_until_memory_was_read(place, watched, tmp_path, root, monkeypatch):
    """The watcher may be late on a busy machine."""
    take = Instrument._take

    def late(instrument, new):
        time.sleep(0.5 if new else 0)
        return take(instrument, new)

    monkeypatch.setattr(Instrument, "_take", late)
    program = f"""
import signal, sys; sys.path.insert(0, {str(root / place)!r})
import {"beyond_ram.phases" if place == "." else "events"} as module
sys.modules.get("phases", module).LONGEST_S = 600
signal.alarm(60)
held = bytearray(b'x') * 50_000_000
module.mark('full', rows=3); del held
module.mark('empty'); print('went on')
"""
    with (tmp_path / "output").open("w+") as output:
        watched(program, stdout=output.fileno(), on_event=lambda event, pid: on_event(event, pid))
        output.seek(0)
        assert output.read() == "", "it went on before it was killed"
    full, empty = (event for event in events_in(tmp_path / "out") if event["event"] in ("full", "empty"))
    assert full["rows"] == 3
    assert full["tree"]["anon_bytes"] > 50e6 > empty["tree"]["anon_bytes"]
    assert full["tree"]["pss_bytes"] > 50e6


def on_event(event, pid):
    if event["event"] == "empty":
        os.kill(pid, signal.SIGKILL)


def test_mark_does_not_wait_if_nobody_reads(root, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(root / "scripts" / "workloads")
    monkeypatch.setenv("BEYOND_RAM_EVENTS", str(tmp_path / "said"))
    import events as of_workloads

    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("nobody reads, or it was read already"))
    for _ in range(2):
        assert of_workloads.mark("x") < 5
        beyond_ram.mark("y")
        (tmp_path / "said.read").write_bytes(bytes(1000))


def test_lines_that_are_no_events_are_skipped(tmp_path):
    raw = tmp_path / "raw"
    raw.write_bytes(b'nonsense\n[1]\n{"event": "x"}\n{"monotonic_s": 2, "event": "y"}\n{"monotonic_s": 3, "ev')
    reader = events.EventReader(raw, 1.0)
    assert reader.new() == [{"t_s": 1.0, "event": "y"}]
    with raw.open("ab") as handle:
        handle.write(b'ent": "z"}\n')
    assert [event["event"] for event in reader.new()] == ["z"]
    reader.close()
