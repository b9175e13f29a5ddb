"""samples.csv stays bounded in a run of any length, its lines are real readings, and it has the peaks."""

import os
import random

import pytest

from beyond_ram.watch import procfs
from beyond_ram.watch.recorder import MAX_LINES, Recorder

from .conftest import samples_in


def row(t_s, anon, pss=""):
    return (t_s, "", 1, anon + 2, anon, 2, 0, 0, pss, pss, "", "", "", "", "")


def test_short_run_keeps_every_line(tmp_path):
    recorder = Recorder(tmp_path / "samples.csv", max_lines=100)
    for n in range(99):
        recorder.write(row(n, n))
    recorder.close()
    assert [float(line["t_s"]) for line in samples_in(tmp_path)] == list(range(99))


def test_long_run_is_bounded_ordered_and_keeps_its_peaks(tmp_path):
    recorder = Recorder(tmp_path / "samples.csv", max_lines=100)
    chance = random.Random(3)
    highest = 0
    for n in range(12_345):
        anon = chance.randrange(10**9)
        highest = max(highest, anon)
        recorder.write(row(n, anon))
        assert recorder.lines < 100
    recorder.close()
    lines = samples_in(tmp_path)
    assert 50 <= len(lines) <= 100
    times = [float(line["t_s"]) for line in lines]
    assert times == sorted(times)
    assert max(int(line["anon_bytes"]) for line in lines) == highest
    assert all(int(line["rss_bytes"]) == int(line["anon_bytes"]) + int(line["file_bytes"]) for line in lines)


def test_samples_behind_the_last_line_are_written_at_the_end(tmp_path):
    recorder = Recorder(tmp_path / "samples.csv", max_lines=10)
    for n in range(40):
        recorder.write(row(n, 1000))
    assert recorder.per_line > 1
    while recorder._pending:
        recorder.write(row(40, 1000))
    recorder.write(row(41, 10**9))
    recorder.close()
    assert samples_in(tmp_path)[-1]["anon_bytes"] == str(10**9)


def test_line_with_pss_replaces_neighbours_that_are_not_higher(tmp_path):
    recorder = Recorder(tmp_path / "samples.csv", max_lines=10)
    for n in range(80):
        recorder.write(row(n, 1000, pss=500 if n % 16 == 3 else ""))
    recorder.close()
    assert sum(line["pss_bytes"] == "500" for line in samples_in(tmp_path)) == 5


@pytest.mark.slow
def test_three_hours_at_20_ms_need_little_disk_and_memory(tmp_path):
    samples = 3 * 3600 * 50
    recorder = Recorder(tmp_path / "samples.csv")
    warm = MAX_LINES * 3
    before = 0
    for n in range(samples):
        recorder.write(row(n * 0.02, n % 1_000_003 * 1000))
        if n == warm:
            before = procfs.memory(os.getpid()).anon_bytes
    recorder.close()
    grown = procfs.memory(os.getpid()).anon_bytes - before
    assert (tmp_path / "samples.csv").stat().st_size < 4e6
    assert [path.name for path in tmp_path.iterdir()] == ["samples.csv"]
    assert grown < 1e6
    assert recorder.samples == samples
