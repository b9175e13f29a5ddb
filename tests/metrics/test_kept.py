"""The metrics that decide about scripts, from real runs whose processes differ and whose kept memory does not."""

import json

import pytest

from beyond_ram.metrics import METRICS, derive

from ..watch.conftest import needs_group, watched  # noqa: F401

MB = 10**6
HELD = f"import json, mmap, os, sys, time; held = bytearray(os.urandom(1000)) * {60 * 1000}\n"
FORK = "if os.fork() == 0: time.sleep(0.3); os._exit(0)\n"
MAPPED = """
with open(sys.argv[1], 'rb') as file: rows = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
sum(rows[at] for at in range(0, len(rows), 4096))
"""
DISGUISES = {
    "alone": "time.sleep(0.3)",
    "forks": f"{FORK * 4}time.sleep(0.2)\nfor _ in range(4): os.wait()",
    "a mapped file": MAPPED,
}
WORK = """
event = {'monotonic_s': time.monotonic(), 'event': 'work'}
with open(os.environ['BEYOND_RAM_EVENTS'], 'a') as file: file.write(json.dumps(event) + '\\n')
time.sleep(0.1)
"""


@needs_group
@pytest.mark.slow
@pytest.mark.parametrize("disguise", DISGUISES)
def test_kept_memory_counts_each_page_once(disguise, watched, tmp_path):  # noqa: F811
    (tmp_path / "rows").write_bytes(bytes(100 * MB))
    record = watched(HELD + DISGUISES[disguise] + WORK, str(tmp_path / "rows"))
    events = [json.loads(line) for line in (tmp_path / "out/events.jsonl").read_text().splitlines()]
    values = derive(record | {"work": {}, "completed_work": True}, events)
    for metric in ("peak_kept_bytes", "end_kept_bytes", "peak_anon_once_bytes"):
        assert 60 * MB < values[metric] < 75 * MB, metric


def test_what_decides_about_scripts_counts_no_page_twice():
    decided = {name for name, metric in METRICS.items() if metric.decided_in("script") and metric.unit == "bytes"}
    memory = {"end_kept_bytes", "peak_kept_bytes", "grown_between_marks_bytes"}
    assert decided == memory | {"written_bytes", "bytes_received"}
