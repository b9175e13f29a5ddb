"""Peaks from several witnesses, and messages about their disagreement."""

import pytest

from beyond_ram.watch import peaks as peaks_module
from beyond_ram.watch import record
from beyond_ram.watch.exits import Exit
from beyond_ram.watch.peaks import Peaks
from beyond_ram.watch.procfs import Memory, parse_memory
from beyond_ram.watch.tree import Process

MB = 10**6


def process(pid, hwm, anon, file=0, before=None):
    instance = Process(pid)
    instance.last = Memory(hwm, anon, file, 0, 0, 0)
    instance.before = before or instance.last
    return instance


def totals(*living):
    anon, file = (sum(p.last[at] for p in living if p.last) for at in (1, 2))
    return [anon + file, anon, file, 0, 0]


def test_mark_above_both_readings_bounds_anonymous_memory():
    peaks = Peaks()
    process_1 = process(1, hwm=100 * MB, anon=10 * MB, file=30 * MB, before=Memory(0, 5 * MB, 20 * MB, 0, 0, 0))
    peaks.note(totals(process_1), [process_1], [], [])
    peaks.end(1)
    assert peaks.run.sampled[1] == 10 * MB
    assert peaks.run.high_water_bytes == 100 * MB
    assert peaks.run.anon_bound_bytes == 80 * MB
    assert peaks.run.unseen_bytes == 60 * MB, "the mark less RSS"


def test_marks_of_processes_that_never_met_are_not_added():
    peaks = Peaks()
    for pid in range(1, 4):
        process_1 = process(pid, hwm=50 * MB, anon=50 * MB)
        peaks.note(totals(process_1), [process_1], [], [])
        peaks.note([0] * 5, [], [process_1], [Exit(pid, 0, "x", 50 * MB)])
    peaks.end(1)
    assert peaks.run.together_bytes == 50 * MB
    assert peaks.ended_sum_bytes == 150 * MB
    assert peaks.seen == 3
    assert peaks.lower_bounds == 0


def test_exit_of_a_thread_is_not_the_end_of_its_process():
    peaks = Peaks()
    process_1 = process(1, hwm=50 * MB, anon=50 * MB)
    peaks.note(totals(process_1), [process_1], [], [Exit(1, 0, "x", 50 * MB)])
    assert peaks.seen == 0
    peaks.note(totals(process_1), [process_1], [], [])
    peaks.note([0] * 5, [], [process_1], [Exit(1, 0, "x", 70 * MB)])
    assert (peaks.seen, peaks.short_lived, peaks.lower_bounds) == (1, 0, 0)
    assert peaks.ended[0]["hwm_bytes"] == 70 * MB


def test_thread_that_ends_after_its_process_is_no_process():
    """Arrow's jemalloc ends a thread late. Its record has the mark of the whole process, with mapped files."""
    peaks = Peaks()
    process_1 = process(1, hwm=150 * MB, anon=50 * MB, file=100 * MB)
    peaks.note(totals(process_1), [process_1], [], [])
    peaks.note([0] * 5, [], [process_1], [Exit(1, 0, "x", 150 * MB)])
    peaks.note([0] * 5, [], [], [Exit(1, 0, "jemalloc_bg_thd", 151 * MB, thread=True)])
    peaks.end(1)
    assert (peaks.seen, peaks.short_lived, peaks.ended_sum_bytes) == (1, 0, 151 * MB)
    assert (peaks.run.unseen_bytes, peaks.run.anon_bound_bytes) == (0, 50 * MB)
    peaks.note([0] * 5, [], [], [Exit(1, 0, "another of that id", 9 * MB)])
    assert (peaks.seen, peaks.short_lived) == (2, 1)


def test_exits_of_a_process_and_its_threads_are_one():
    records = [Exit(pid, 20, "thread", size, thread=True) for pid, size in ((30, 7), (31, 5))]
    records.insert(1, Exit(30, 20, "process", 5))
    by_pid = {exit_.pid: exit_ for exit_ in Peaks().own_exits(records, {20})}
    assert (by_pid[30].hwm_bytes, by_pid[30].thread, by_pid[31].thread) == (7, False, True)


GRANDCHILD, CHILD, OTHER = Exit(30, 20, "grandchild", 5), Exit(20, 10, "child", 6), Exit(99, 98, "other", 7)


@pytest.mark.parametrize(
    "looks",
    [
        [([GRANDCHILD, CHILD, OTHER], {10}, {20, 30})],
        [([GRANDCHILD], {10}, set()), ([CHILD], {10}, {20, 30})],
        [([GRANDCHILD], {10}, set()), ([], {10, 20}, {30})],
        # The id of its parent was reused.
        [([OTHER], {10}, set()), ([], {10}, set()), ([], {10, 98}, set()), ([Exit(98, 10, "", 6)], {10, 98}, {98})],
    ],
    ids=["at once", "before its parent", "before its parent was listed", "of another process"],
)
def test_exits_of_descendants_are_ours(looks):
    peaks = Peaks()
    for exits, tree, ours in looks:
        assert {left.pid for left in peaks.own_exits(exits, tree)} == ours


@pytest.mark.slow
def test_exits_of_other_processes_are_forgotten():
    """One process starts thousands, like a loop of a shell, or thousands start one each."""
    for parents in (1, 20_000):
        peaks, most = Peaks(), 0
        for pid in range(100, 40_100):
            peaks.own_exits([Exit(pid, pid % parents + 50_000, "other", 5)], {10})
            most = max(most, sum(map(len, peaks._orphans.values())))
        assert most < 10


@pytest.mark.slow
def test_processes_and_phases_are_bounded():
    peaks = Peaks()
    for pid in range(1, 5001):
        peaks.note([0] * 5, [], [], [Exit(pid, 0, "x", pid)])
        peaks.begin(str(pid), pid, pid, [])
    assert {entry["hwm_bytes"] for entry in peaks.ended} >= {*range(4940, 5001)} and len(peaks.ended) < 128
    assert peaks.ended_sum_bytes == sum(range(5001))
    assert len(peaks.phases) + peaks.phases_left_out == 5000 and peaks.phases_left_out == 4000
    assert peaks.seen == 5000


@pytest.mark.slow
def test_phases_that_are_left_out_are_noted(watched, monkeypatch):
    program = """
import os, time
for name in range(5):
    with open(os.environ['BEYOND_RAM_EVENTS'], 'a') as file: file.write(f'phase {name}\\n')
    time.sleep(0.1)
"""
    assert watched(program)["missing"] == []
    monkeypatch.setattr(peaks_module, "_PHASES_KEPT", 3)
    content = watched(program)
    assert len(content["phases"]) == 3
    assert [note["what"] for note in content["missing"]] == ["phases"]


@pytest.mark.slow
def test_disagreement_of_witnesses_is_reported(watched):
    spike = """
import mmap, time
time.sleep(0.1)
for _ in range(3):
    memory = mmap.mmap(-1, 30_000_000)
    memory.write(bytes(30_000_000))
    memory.close()
    time.sleep(0.06)
"""
    run_record = watched(spike, interval_ms=60)
    highest = run_record["peak"]["hwm_bytes"]["processes"][0]["hwm_bytes"]
    assert highest > 30 * MB
    if run_record["peak"]["rss_bytes"] < highest - 2 * MB:
        assert any("spike between two samples" in sentence for sentence in run_record["peak"]["disagreements"])
    assert record._disagreements(100 * MB, 100 * MB, 100 * MB, 1) == []
    assert "counted in each" in record._disagreements(900 * MB, 900 * MB, 110 * MB, 9)[0]


def test_memory_of_another_group_is_reported_as_far_as_pss_shows_it():
    alone = "RSS is 302.6 MB, the group held at most 221.5 MB"
    disagreements = record._disagreements(302_600_000, 302_600_000, 221_500_000, 1, 205_300_000)
    assert disagreements == [alone]
    assert record._disagreements(302_600_000, 302_600_000, 221_500_000, 1, None) == [alone]
    charged = record._disagreements(787_500_000, 787_500_000, 513_000_000, 1, 778_300_000)
    assert "778.3 MB" in charged[1] and "265.3 MB" in charged[1]


def test_status_without_memory_lines_is_no_reading():
    assert parse_memory(b"Name:\tzombie\nState:\tZ (zombie)\n") is None
    lines = b"VmHWM:\t 5 kB\nVmRSS:\t 4 kB\nRssAnon:\t 1 kB\nRssFile:\t 2 kB\nRssShmem:\t 1 kB\n"
    lines += b"VmData:\t 9 kB\nVmSwap:\t 7 kB\n"
    assert parse_memory(lines) == Memory(5 << 10, 1 << 10, 2 << 10, 1 << 10, 7 << 10, 0)
