"""samples.csv stays bounded in a run of any length, its lines are real readings, and it has the peaks."""

import random

import pytest

from beyond_ram.watch import recorder as recorder_module
from beyond_ram.watch.recorder import Recorder

from .conftest import samples_in


def row(t_s, anon, pss=""):
    return (t_s, "", 1, anon + 2, anon, 2, 0, 0, pss, pss, "", "", "", "", "")


@pytest.fixture
def recorder(tmp_path, monkeypatch):
    """Return a function that writes rows under a limit of 100 lines, and returns the recorder and its lines."""
    monkeypatch.setattr(recorder_module, "MAX_LINES", 100)

    def written(rows):
        recorder = Recorder(tmp_path / "samples.csv")
        for one in rows:
            recorder.write(one)
            assert recorder.lines < 100
        recorder.close()
        return recorder, samples_in(tmp_path)

    return written


def test_short_run_keeps_every_line(recorder):
    _, lines = recorder(row(n, n) for n in range(99))
    assert [float(line["t_s"]) for line in lines] == list(range(99))


def test_long_run_is_bounded_ordered_and_keeps_its_peaks(recorder):
    """The peak is the last sample, which waits for others of its line."""
    chance = random.Random(3)
    made, lines = recorder([*(row(n, chance.randrange(10**9)) for n in range(12_344)), row(12_345, 10**9)])
    assert made.samples == 12_345 and made.per_line > 1
    assert 50 <= len(lines) <= 100
    times = [float(line["t_s"]) for line in lines]
    assert times == sorted(times)
    assert max(int(line["anon_bytes"]) for line in lines) == 10**9
    assert all(int(line["rss_bytes"]) == int(line["anon_bytes"]) + int(line["file_bytes"]) for line in lines)


def test_line_with_pss_replaces_neighbours_that_are_not_higher(recorder):
    _, lines = recorder(row(n, 1000, pss=500 if n % 16 == 3 else "") for n in range(800))
    assert sum(line["pss_bytes"] == "500" for line in lines) == 50
