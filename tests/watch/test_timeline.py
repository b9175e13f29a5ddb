"""The course of memory, from made-up lines and readings, and copies on write of real forks."""

import pytest

from beyond_ram.records.run_files import COLUMNS
from beyond_ram.watch.timeline import Copying, of_lines

from .conftest import needs_group

ONE, TWO = frozenset({1}), frozenset({1, 2})


def line(t_s, rss, phase=""):
    words = [t_s, phase, 1, rss, rss - 1, 1, 0, 0]
    return ",".join(map(str, words + [""] * (len(COLUMNS) - len(words)))).encode()


def test_course_has_the_maximum_of_each_tenth():
    parts = of_lines([line(0, 10), line(0.9, 30), line(1.1, 20), line(5, 5, '"a, ""b"""'), line(10, 7)], 10.0)
    assert [(part["t_s"], part["rss_bytes"], part["anon_bytes"]) for part in parts] == [
        (0.0, 30, 29), (1.0, 20, 19), (5.0, 5, 4), (9.0, 7, 6),
    ]  # fmt: skip
    assert of_lines([], 10.0) == []


@pytest.mark.parametrize(
    ("readings", "shared", "copied"),
    [
        ([(ONE, 100, 100), (TWO, 200, 100), (TWO, 200, 160)], 100, 60),
        ([(TWO, 200, 100), (TWO, 150, 120)], 100, 0),  # released, not copied
        ([(TWO, 200, 100), (TWO, 200, 180), (ONE, 100, 100), (TWO, 200, 100), (TWO, 200, 150)], 100, 130),
        ([(TWO, 200, 210)], 0, 0),
        ([(TWO, 200, 200), (TWO, 300, 250), (TWO, 300, 300)], 50, 50),
    ],
)
def test_memory_that_is_no_longer_shared_was_copied(readings, shared, copied):
    copying = Copying()
    for reading in readings:
        copying.note(*reading)
    assert (copying.shared_bytes, copying.copied_bytes) == (shared, copied)


WRITES = """
import mmap, os, time
data = mmap.mmap(-1, 80_000_000, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, 80_000_000, 4096): data[at] = 1
time.sleep(0.2)
if os.fork() == 0:
    time.sleep(1)  # for a reading on a busy machine, here and after the writes
    for at in range(0, %d, 4096): data[at] = 2
    time.sleep(1.5)
    os._exit(0)
os.wait()
"""


@pytest.mark.slow
@needs_group
@pytest.mark.parametrize("written", [0, 60_000_000])
def test_pages_that_a_fork_writes_are_copied(watched, written):
    peak = watched(WRITES % written)["peak"]
    assert peak["shared_anon_bytes"] == pytest.approx(80e6, rel=0.1)
    assert peak["copied_on_write_bytes"] == pytest.approx(written, abs=3e6)
