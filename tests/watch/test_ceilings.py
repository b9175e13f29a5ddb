"""`watch --max-…`: the exit status reports a peak above, also from the kernel's marks, and an unknown one."""

import subprocess

import pytest

from beyond_ram.cli import main
from beyond_ram.watch import ceilings
from beyond_ram.watch.sampler import Sampler

from .conftest import CLI, PYTHON, needs_group, record_in

HOLD = "import time; held = bytearray({size}); time.sleep({seconds}); raise SystemExit({status})"
# Takes and releases memory between two samples, which are a minute apart.
SPIKE = """
import mmap, os, sys
size, kind = int(sys.argv[1]), sys.argv[2]
flags = mmap.MAP_PRIVATE | mmap.MAP_POPULATE
if kind == "file":
    with open(sys.argv[3], "wb+") as file:
        for _ in range(size >> 20):
            file.write(bytes(1 << 20))
        file.flush(); os.fsync(file.fileno())
        mmap.mmap(file.fileno(), size >> 20 << 20, flags=flags, prot=mmap.PROT_READ).close()
else:
    for _ in range(int(sys.argv[3])):
        if os.fork() == 0:
            mmap.mmap(-1, size, flags=flags | mmap.MAP_ANONYMOUS).close()
            os._exit(0)
        os.wait()
"""
FORKS = """
import os, time
held = bytearray(100_000_000)
for _ in range(3):
    if os.fork() == 0:
        time.sleep(0.5); os._exit(0)
for _ in range(3):
    os.wait()
"""

MB = 1_000_000


def watched(out, *arguments, program, program_arguments=()):
    command = [*CLI, "--out", out, *arguments, "--", *PYTHON, program, *program_arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr, record_in(out)


@pytest.mark.slow
@pytest.mark.parametrize("status", [0, 7])
def test_peak_above_is_status_3_whatever_the_commands_status(tmp_path, status):
    program = HOLD.format(size=120_000_000, seconds=0.2, status=status)
    returned, output, record = watched(tmp_path, "--max-anon", "100MB", "--max-rss", "1G", program=program)
    assert returned == record["watch_status"] == 3
    assert record["exit_status"] == status
    assert record["outcome"] == ("failed" if status else "completed")
    above, within = record["ceilings"]
    assert (above["result"], within["result"]) == ("above", "within")
    assert above["max_bytes"] == 100_000_000
    assert 120e6 < above["peak_bytes"] < 135e6
    (line,) = [line for line in output.splitlines() if line.startswith("above ")]
    assert f"peak anonymous memory {above['peak_bytes'] / 1e6:,.0f} MB is above --max-anon 100MB (100 MB)" in line
    assert f"({record['pid']}) 1" in line, "the line lacks the process"
    assert len(line) <= 120
    assert ("the command failed by itself too, with status 7" in output) == (status == 7)


@pytest.mark.slow
def test_peak_below_keeps_the_commands_status(tmp_path):
    program = HOLD.format(size=50_000_000, seconds=0.3, status=7)
    arguments = ("--max-anon", "100MB", "--max-rss", "100MB")
    returned, output, record = watched(tmp_path, *arguments, program=program)
    assert returned == record["watch_status"] == 7
    assert [entry["result"] for entry in record["ceilings"]] == ["within"] * 2
    assert output.count("is not above --max-") == 2
    assert "failed by itself" not in output


@pytest.mark.slow
@needs_group
@pytest.mark.parametrize(
    ("words", "peak"),
    [(("anonymous", "1"), 200e6), (("file", "mapped"), 0), (("anonymous", "2"), 200e6)],
    ids=["anonymous", "file", "one after another"],
)
def test_kernels_marks_find_a_peak_between_two_samples(tmp_path, words, peak):
    program_arguments = ("200000000", *(str(tmp_path / word) if word == "mapped" else word for word in words))
    arguments = ("--interval-ms", "60000", "--max-anon", "300MB", "--max-anon", "100MB")
    returned, output, record = watched(tmp_path, *arguments, program=SPIKE, program_arguments=program_arguments)
    (entry,) = record["ceilings"]
    assert record["peak"]["anon_bytes"] < 100e6, "a sample has the spike"
    assert abs(entry["peak_bytes"] - peak) < 20e6, record["peak"]
    assert returned == (3 if peak else 0), output
    (entry,) = ceilings.judge(record, [ceilings.Ceiling("anon", 300_000_000, "300MB")])
    assert entry["result"] == "within"


@pytest.mark.slow
def test_shared_pages_count_in_each_process_for_rss(tmp_path):
    returned, output, record = watched(tmp_path, "--max-rss", "200MB", program=FORKS)
    (entry,) = record["ceilings"]
    assert (returned, entry["result"]) == (3, "above"), output
    assert entry["peak_bytes"] > 400e6


def test_spikes_that_marks_do_not_exclude_are_named():
    record = in_a_group(3 * MB) | {"watch_status": 0}
    record["peak"]["anon_upper_bound_bytes"] = 60 * MB
    record["ceilings"] = ceilings.judge(record, [ceilings.Ceiling("anon", 42 * MB, "42M")])
    (line,) = ceilings.lines(record)
    assert line.startswith("within") and line.endswith("; spikes up to 60 MB")


@pytest.mark.slow
def test_unknown_peak_is_never_passed(monkeypatch, tmp_path, capfd):
    def broken(*_, **__):
        raise OSError(5, "no reading today")

    monkeypatch.setattr(Sampler, "_sample", broken)
    for own, expected in ((0, 3), (7, 7)):
        command = ["sh", "-c", f"exit {own}"]
        assert main(["watch", "--out", str(tmp_path), "--max-anon", "1G", "--", *command]) == expected
        why = "samples: no reading today"
        assert f"whether peak anonymous memory is above --max-anon 1G is not known: {why}" in capfd.readouterr().err
        record = record_in(tmp_path)
        assert (record["exit_status"], record["ceilings"][0]["result"]) == (own, "unknown")


def test_peak_at_its_ceiling_is_within():
    marks = {"processes": [], "concurrent_upper_bound_bytes": 100}
    record = {"peak": {"rss_bytes": 100, "hwm_bytes": marks, "held_by": {}}}
    judged = ceilings.judge(record, [ceilings.Ceiling("rss", size, str(size)) for size in (100, 99)])
    assert [entry["result"] for entry in judged] == ["within", "above"]


def in_a_group(kept_bytes, kernel_bytes=MB, **more):
    """A run in a group of its own that held so much; all readings and marks are below 2 MB."""
    marks = {"processes": [{"hwm_bytes": 2 * MB, "name": "x"}], "concurrent_upper_bound_bytes": 2 * MB}
    kept = {"basis": "group", "whole": True, "kept_bytes": kept_bytes, "at_kept": {"kernel_bytes": kernel_bytes}}
    peak = {"anon_bytes": MB, "anon_upper_bound_bytes": 2 * MB, "unseen_bytes": 0, "rss_bytes": 2 * MB, "processes": 1}
    peak |= {"hwm_bytes": marks, "held_by": {}, "kept": kept}
    return {"peak": peak, **more}


@pytest.mark.parametrize("kind", ceilings.KINDS)
@pytest.mark.parametrize(
    ("record", "result"),
    [
        (in_a_group(3 * MB), "within"),
        (in_a_group(63 * MB), "unknown"),  # exec resets the mark of a process
        (
            in_a_group(63 * MB, kernel_bytes=30 * MB),
            "unknown",
        ),  # memory that a process gives up counts as kernel memory
        (in_a_group(3 * MB, left_running=[{"pid": 7, "name": "daemon"}]), "unknown"),
    ],
)
def test_ceiling_is_unknown_where_the_group_held_more_or_a_process_ran_on(kind, record, result):
    (entry,) = ceilings.judge(record, [ceilings.Ceiling(kind, 42 * MB, "42M")])
    assert (entry["result"], entry["why"] is None) == (result, result == "within")


@pytest.mark.parametrize(("set_back", "result"), [(None, "within"), (False, "within"), (True, "unknown")])
def test_page_cache_of_the_group_is_within_by_marks_that_were_not_set_back(set_back, result):
    record = in_a_group(3 * MB) | {"watch_status": 0}
    record["peak"]["hwm_bytes"]["set_back"] = set_back
    for cgroup_bytes, expected in ((30 * MB, "within"), (90 * MB, result)):
        record["peak"] |= {"cgroup_bytes": cgroup_bytes, "file_bytes": MB}
        record["ceilings"] = ceilings.judge(record, [ceilings.Ceiling("anon", 42 * MB, "42M")])
        assert record["ceilings"][0]["result"] == expected
        (line,) = ceilings.lines(record)
        assert ("by the marks" in line) is (expected == "within" and cgroup_bytes > 42 * MB), line


@pytest.mark.parametrize("basis", ["group", "around"])
def test_anonymous_memory_of_the_group_that_no_process_had_is_above(basis):
    record = in_a_group(63 * MB)
    record["peak"]["kept"] |= {"basis": basis, "sampled_anon_bytes": 60 * MB}
    (entry,) = ceilings.judge(record, [ceilings.Ceiling("anon", 42 * MB, "42M")])
    assert (entry["result"], entry["peak_bytes"]) == ("above", 60 * MB)


@pytest.mark.slow
@needs_group
@pytest.mark.parametrize(("at_first", "sampled"), [(150 * MB, True), (1, False)])
def test_spikes_are_not_excluded_where_other_memory_made_the_groups_peak(tmp_path, at_first, sampled):
    program = f"""
import mmap, os, time
file = os.memfd_create("x")
os.ftruncate(file, {at_first})
shared = mmap.mmap(file, {at_first})
shared.write(bytes({at_first})); time.sleep(0.2); shared.close(); os.close(file)
held = bytearray(30_000_000); time.sleep(0.2)
"""
    status, output, _ = watched(tmp_path, "--max-anon", "100MB", program=program)
    (line,) = [line for line in output.splitlines() if line.startswith("within")]
    assert status == 0 and ("without spikes between samples" in line) is sampled, line


def test_ceiling_is_unknown_without_a_peak():
    for record in ({}, {"peak": {}}, {"peak": {"anon_bytes": None}, "missing": []}):
        (entry,) = ceilings.judge(record, [ceilings.Ceiling("anon", 10, "10")])
        assert entry["result"] == "unknown"
        assert entry["why"]
