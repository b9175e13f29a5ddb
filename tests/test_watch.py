"""The watcher on real commands: status, signals, known amounts of memory, nothing made up."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from beyond_ram.watch import watch

MB = 1_000_000
WATCH = [sys.executable, "-m", "beyond_ram", "watch"]
HOLD = "import time; time.sleep(0.4)"


def samples(out: Path) -> list[dict[str, str]]:
    with (out / "samples.csv").open(newline="") as handle:
        return list(csv.DictReader(handle))


def peak_of(code: str, out: Path) -> dict[str, Any]:
    record = watch([sys.executable, "-c", f"{code}; {HOLD}"], out, interval_ms=5)
    assert record["outcome"] == "completed"
    return record["peak"]


@pytest.mark.parametrize(
    ("script", "status"),
    [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", 128 + signal.SIGTERM), ("kill -KILL $$", 137)],
)
def test_the_command_decides_the_exit_status(script: str, status: int) -> None:
    assert subprocess.run([*WATCH, "--", "sh", "-c", script], capture_output=True).returncode == status


def test_a_command_that_does_not_exist_is_one_line() -> None:
    done = subprocess.run([*WATCH, "--", "no-such-command"], capture_output=True, text=True)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "no-such-command" in done.stderr


def test_a_signal_reaches_the_command(tmp_path: Path) -> None:
    script = "trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.05; done"
    child = subprocess.Popen([*WATCH, "--", "sh", "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGTERM)
    assert child.communicate(timeout=20)[0] == "caught\n"
    assert child.returncode == 3


def test_the_command_dies_with_a_killed_watcher(tmp_path: Path) -> None:
    child = subprocess.Popen([*WATCH, "--", "sh", "-c", "echo $$; exec sleep 60"], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    command = int(child.stdout.readline())
    child.kill()
    child.wait()
    deadline = time.monotonic() + 10
    while Path(f"/proc/{command}").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not Path(f"/proc/{command}").exists()


def test_anonymous_memory_is_weighed_to_a_megabyte(tmp_path: Path) -> None:
    without = peak_of("pass", tmp_path / "without")
    peak = peak_of(f"held = bytearray(b'x') * {200 * MB}", tmp_path / "with")
    assert peak["anon_bytes"] - without["anon_bytes"] == pytest.approx(200 * MB, abs=MB)
    assert peak["file_bytes"] - without["file_bytes"] == pytest.approx(0, abs=MB)


def test_a_mapped_file_is_file_memory_and_nothing_else(tmp_path: Path) -> None:
    mapped = tmp_path / "mapped"
    mapped.write_bytes(b"x" * 100 * MB)
    opened = f"import mmap; f = open({str(mapped)!r}, 'rb'); m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)"
    read = f"{opened}; sum(m[i] for i in range(0, len(m), mmap.PAGESIZE))"
    without, peak = peak_of("import mmap", tmp_path / "without"), peak_of(read, tmp_path / "with")
    assert peak["file_bytes"] - without["file_bytes"] == pytest.approx(100 * MB, abs=MB)
    assert peak["anon_bytes"] - without["anon_bytes"] == pytest.approx(0, abs=MB)


def test_children_are_weighed_too_and_pss_counts_shared_pages_once(tmp_path: Path) -> None:
    held = f"import os, time; held = bytearray(b'x') * {100 * MB}"
    forks = "[os.fork() or (time.sleep(0.5), os._exit(0)) for _ in range(3)]; time.sleep(0.6)"
    record = watch([sys.executable, "-c", f"{held}; {forks}"], tmp_path, interval_ms=5)
    peak = record["peak"]
    assert max(int(row["processes"]) for row in samples(tmp_path)) == 4
    assert peak["anon_bytes"] > 400 * MB
    assert 100 * MB < peak["pss_bytes"] < 130 * MB


def test_the_sampled_peak_and_the_high_water_mark_agree_and_samples_add_up(tmp_path: Path) -> None:
    peak = peak_of(f"held = bytearray(b'x') * {150 * MB}", tmp_path)
    assert peak["rss_bytes"] == pytest.approx(peak["hwm_bytes"]["processes"][0]["hwm_bytes"], rel=0.01)
    rows = samples(tmp_path)
    assert all(int(r["rss_bytes"]) == sum(int(r[f"{k}_bytes"]) for k in ("anon", "file", "shmem")) for r in rows)
    assert [float(row["t_s"]) for row in rows] == sorted(float(row["t_s"]) for row in rows)


def test_the_watcher_adds_one_variable_to_the_environment_and_no_more(tmp_path: Path) -> None:
    kept = tmp_path / "environment"
    code = f"import json, os; json.dump(dict(os.environ), open({str(kept)!r}, 'w'))"
    watch([sys.executable, "-c", code], tmp_path)
    assert set(json.loads(kept.read_text())) - set(os.environ) - {"LC_CTYPE"} == {"BEYOND_RAM_EVENTS"}


def test_events_of_a_workload_become_phases_with_a_reading_from_outside(tmp_path: Path, root: Path) -> None:
    code = "import events; events.phase('fill'); held = bytearray(b'x') * 50_000_000; events.mark('full', rows=3)"
    environment = {**os.environ, "PYTHONPATH": str(root / "scripts/workloads")}
    command = [*WATCH, "--out", str(tmp_path), "--", sys.executable, "-c", code]
    assert subprocess.run(command, env=environment, capture_output=True).returncode == 0
    lines = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["start", "phase", "full", "end"]
    assert lines[2]["rows"] == 3
    assert lines[2]["tree"]["anon_bytes"] > 50 * MB
    assert lines[2]["tree"]["pss_bytes"] > 50 * MB
    assert "fill" in {row["phase"] for row in samples(tmp_path)}
