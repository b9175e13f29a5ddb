"""Reasons for the memory of a command: each sentence with readings that support it, and with others."""

import random

import pytest

from beyond_ram.records.run_files import COLUMNS
from beyond_ram.watch.summary import lines
from beyond_ram.watch.timeline import COPYING, of_lines
from beyond_ram.watch.why import sentences

MB = 1_000_000


def record(anon, **peak):
    """Return the record of a run of ten seconds with this course of anonymous memory, in MB."""
    file = peak.pop("file", 0)
    course = [
        {"t_s": float(at), "rss_bytes": (size + file) * MB, "anon_bytes": size * MB, "file_bytes": file * MB}
        for at, size in enumerate(anon)
    ]
    peaks = {"rss_bytes": (max(anon) + file) * MB, "anon_bytes": max(anon) * MB, "file_bytes": file * MB}
    return {
        "peak": peaks | {"course": course, "processes": 1, "held_by": {}} | peak,
        "phases": [], "sampler": {"samples": 500}, "duration_s": float(len(anon)),
    }  # fmt: skip


def shared(size, read_at=1000):
    """Return what a reading of the processes' shared memory gives, at a sum over processes of `read_at` MB."""
    return dict(zip(COPYING, (size * MB, 0, read_at * MB), strict=True))


MUCH, LITTLE = ({"copied_on_write_bytes": size * MB} for size in (400, 20))
V1, V2 = {"version": 1}, {"version": 2}
RISING = list(range(100, 1100, 100))
LOCKED = {"basis": "group", "kept_bytes": 400 * MB, "locked_file_bytes": 300 * MB}
LEVEL = [100, *[1000] * 9]
RAMP = [100, 100, 100, 100, 130, 160, 190, 220, 250, 280]
KERNEL = {"kept": {"basis": "group", "at_kept": {"kernel_bytes": 850 * MB}}}
SLOW = list(range(500, 590, 9))
BUFFERS = {"kept": {"basis": "group", "at_kept": {"kernel_bytes": 75 * MB}}}
SHORT = [100, 100, 100, 1000, 100, 100, 100, 100, 100, 100]
UP_AND_DOWN = [100, 600, 300, 900, 400, 1000, 300, 800, 900, 500]
ALIKE = {"anon_bytes": [{"pid": n, "name": "worker", "bytes": 300 * MB} for n in range(3)]}
WORKERS = record(UP_AND_DOWN, processes=4, held_by=ALIKE, **shared(0))


@pytest.mark.parametrize(
    ("supporting", "phrase", "other"),
    [
        (record(RISING), "rose throughout", record(LEVEL)),
        (record(RISING), "rose throughout", record(list(reversed(RISING)))),
        (record(LEVEL), "memory stayed within 0 MB", record(RISING)),
        (record(RISING), "rose throughout", record(RISING, processes=2)),
        (record(SHORT), "the peak was short, near 3.0 s", record(LEVEL)),
        (record(SHORT), "the peak was short", record(RAMP)),
        (record(RISING, cgroup=V2, **KERNEL), "rose throughout", record(RISING, cgroup=V1, **KERNEL)),
        (record(SLOW, cgroup=V2, **BUFFERS), "rose throughout, by 81 MB", record(SLOW, cgroup=V1, **BUFFERS)),
        (record([100] * 10, file=300), "75% of RSS was mapped files", record([100] * 10, file=50)),
        (record([100] * 10, file=300), "75% of RSS was mapped files", record([100] * 10, file=300, kept=LOCKED)),
        (record(LEVEL), "stayed within 0 MB", record(LEVEL, uncharged_bytes=900 * MB)),
        (record(UP_AND_DOWN, **MUCH), "400 MB were copied on write", record(UP_AND_DOWN, **LITTLE)),
        (WORKERS, "kept about 300 MB each", record(UP_AND_DOWN, processes=4, held_by=ALIKE, **shared(900))),
        (WORKERS, "kept about 300 MB each", record(UP_AND_DOWN, processes=4, held_by=ALIKE, **dict.fromkeys(COPYING))),
        (WORKERS, "kept about 300 MB each", record(UP_AND_DOWN, processes=4, held_by=ALIKE, **shared(0, read_at=500))),
        (record(RISING), "rose throughout", record(RISING, processes_unread=1)),
    ],
)
def test_sentence_appears_only_with_readings_that_support_it(supporting, phrase, other):
    assert any(phrase in sentence for sentence in sentences(supporting))
    assert not any(phrase.partition(":")[0] in sentence for sentence in sentences(other))


ROSE, BRIEF, STAYED = "rose throughout", "the peak was short", "stayed within"


@pytest.mark.parametrize(
    ("anon_mb", "words"),
    [
        (lambda t, noise: 100 + 300 * t, [ROSE]),
        (lambda t, noise: 100 + 300 * t + 500 * (0.5 < t < 0.52), [BRIEF]),
        (lambda t, noise: 100 + 300 * t + 500 * (0.96 < t < 0.98), [ROSE]),
        (lambda t, noise: 100 + 300 * t + 200 * noise * (t % 0.03 < 0.015), [ROSE]),
        (lambda t, noise: 400 * min(1, t / 0.8) + 500 * (0.5 < t < 0.52), [BRIEF]),
        (lambda t, noise: 400 * min(1, t / 0.8) + 500 * (0.85 < t < 0.9), [BRIEF]),
        (lambda t, noise: 400, [STAYED]),
        (lambda t, noise: 400 * (0.98 + 0.04 * noise), [STAYED]),
        (lambda t, noise: 40 + 500 * noise, []),
        (lambda t, noise: 400 * (0.98 + 0.04 * noise) + 500 * (0.5 < t < 0.52), [BRIEF]),
        (lambda t, noise: 100 + 300 * (t % 0.07) / 0.07, [STAYED]),
        (lambda t, noise: 100 + 300 * (t % 0.23) / 0.23, []),
        (lambda t, noise: 400 * (t < 0.97), [STAYED]),
        (lambda t, noise: (100 + 300 * t) * (t < 0.85), []),
    ],
)
def test_growth_is_told_from_memory_that_comes_and_goes(anon_mb, words):
    noise = random.Random(1)
    rows = [(t / 500, int(anon_mb(t / 500, noise.random()) * MB)) for t in range(500)]
    columns = (",".join(str({"t_s": t, "anon_bytes": size, "rss_bytes": size, "file_bytes": 0}.get(name, ""))
                        for name in COLUMNS).encode() for t, size in rows)  # fmt: skip
    course = of_lines(columns, 1.0)
    texts = list(sentences(record([part["anon_bytes"] / MB for part in course], course=course)))
    assert [[word for word in (ROSE, BRIEF, STAYED) if word in text] for text in texts] == [[word] for word in words]


def test_unclear_or_few_readings_give_no_sentence():
    assert list(sentences(record(UP_AND_DOWN))) == []
    few = record(RISING) | {"sampler": {"samples": 12}}
    assert list(sentences(few)) == []
    assert list(sentences(record([1] * 10))) == []


def test_course_of_forks_is_of_memory_that_counts_shared_pages_once():
    forked = record(RISING, processes=9)
    for part in forked["peak"]["course"]:
        part["kept_bytes"] = (300 + part["anon_bytes"] // MB // 10) * MB
    assert [sentence for sentence in sentences(forked) if "by 90 MB" in sentence and "kept memory" in sentence]
    assert not any("900" in sentence for sentence in sentences(forked))


def test_leak_of_less_than_what_can_be_seen_is_named():
    leaking = record([1000 + 3 * tenth for tenth in range(10)]) | {"duration_s": 30.0}
    (sentence,) = sentences(leaking)
    assert "within 24 MB" in sentence and "level" not in sentence
    assert float(sentence.partition("growth below ")[2].split()[0]) > 1


@pytest.mark.parametrize("course", [RISING, LEVEL, SHORT])
def test_course_without_samples_in_a_tenth_gives_no_sentence(course):
    whole, late = record(course), record(course)
    del late["peak"]["course"][6]
    assert len(list(sentences(whole))) == 1
    assert list(sentences(late)) == []


@pytest.mark.slow
def test_summary_has_the_causes_of_a_run(watched):
    program = "import time; held = []\nfor n in range(60): held.append(bytearray(3_000_000)); time.sleep(0.03)"
    watched_record = watched(program)
    course = watched_record["peak"]["course"]
    assert max(part["anon_bytes"] for part in course) == watched_record["peak"]["anon_bytes"] > 100e6
    # On a busy machine the program may pause for a tenth of the time, and a short run has few samples.
    watched_record["sampler"]["samples"] = 500
    watched_record["peak"]["cgroup"] = {"version": 2}  # in v1, some of this may be memory that the kernel gives back
    watched_record["peak"]["course"] = [course[0] | {"kept_bytes": n * MB} for n in RISING]
    summary_lines = list(lines(watched_record))
    whys = [line for line in summary_lines if line.startswith("why")]
    assert whys == [line for line in summary_lines if "rose throughout, by 900 MB" in line]
    assert sum("rose throughout" in line for line in summary_lines) == 1
    assert max(map(len, summary_lines)) <= 120


@pytest.mark.slow
def test_summary_has_phases_and_the_share_of_each_process(watched):
    program = """
import json, os, time
def phase(name):
    line = json.dumps({'monotonic_s': time.monotonic(), 'event': 'phase', 'phase': name}) + chr(10)
    with open(os.environ['BEYOND_RAM_EVENTS'], 'a') as file: file.write(line)
phase('load'); held = bytearray(60_000_000); time.sleep(0.3); del held
phase('work')
for number in range(2):
    if os.fork() == 0:
        mine = bytearray(20_000_000 * (number + 1)); time.sleep(0.4); os._exit(0)
os.wait(); os.wait()
"""
    summary_lines = list(lines(watched(program)))
    load = next(line for line in summary_lines if line.startswith("phase       load"))
    assert ": 6" in load and "MB anonymous" in load
    assert any(line.startswith("phase       work") for line in summary_lines)
    holders = next(line for line in summary_lines if line.startswith("held by"))
    assert holders.count("python") >= 2
