"""The rate of growth, from made-up readings."""

import pytest

from beyond_ram.watch.trend import MACHINE, GrowthRate, Trend, ceiling, sentence, unseen_bytes_per_s

MB = 1_000_000


def trend(course):
    course_trend = Trend()
    for t_s, size_mb in course:
        course_trend.note(t_s, int(size_mb * MB))
    return course_trend


def every(step_s, count):
    return [number * step_s for number in range(count)]


@pytest.mark.parametrize("step_s", [0.02, 0.3, 5.0])
def test_steady_growth_has_its_rate_at_any_interval(step_s):
    growth = trend([(t, 100 + 7 * t) for t in every(step_s, 1000)]).growth()
    assert growth is not None
    assert growth.bytes_per_s == pytest.approx(7 * MB, rel=0.01)
    assert growth.reaches_in_s(growth.now_bytes + 70 * MB) == pytest.approx(10, rel=0.01)


def test_rising_saw_tooth_has_the_rate_of_its_upper_edge():
    growth = trend([(t, 3 * t + 200 * (t % 2 / 2)) for t in every(0.02, 5000)]).growth()
    assert growth is not None
    assert growth.bytes_per_s == pytest.approx(3 * MB, rel=0.05)


def test_growth_ignores_memory_released_at_the_end():
    course = [(t, 100 + 10 * t) for t in every(0.02, 500)]  # up to 200 MB; then it ends, and releases memory
    growth = trend([*course, (10.05, 120), (10.15, 40)]).growth()
    assert growth is not None
    assert growth.now_bytes == pytest.approx(200 * MB, rel=0.01)
    assert growth.reaches_in_s(300 * MB) == pytest.approx(10, rel=0.05)


@pytest.mark.parametrize(("size_mb", "length_s"), [(1000, 30), (20, 30), (1000, 5)])
def test_growth_is_seen_above_the_rate_that_is_named_and_not_below(size_mb, length_s):
    times = every(length_s / 1000, 1000)
    unseen_mb_per_s = unseen_bytes_per_s(size_mb * MB, length_s) / MB
    at_end = [[(t, size_mb + share * unseen_mb_per_s * (t - length_s)) for t in times] for share in (0.8, 1.2)]
    assert [trend(one).growth() is not None for one in at_end] == [False, True]


@pytest.mark.parametrize(
    "course",
    [
        [(t, 500.0) for t in every(0.02, 1000)],
        [(t, 500.0 + 200 * (t % 2 / 2)) for t in every(0.02, 1000)],  # a saw-tooth that does not rise
        [(t, min(50 * t, 500)) for t in every(0.02, 1000)],  # up to a level
        [(t, 900 - 10 * t) for t in every(0.02, 1000)],
        [(t, 500 * (1 - 2 ** (-t / 2))) for t in every(0.02, 1000)],  # towards a level
        [(0.0, 1.0), (0.02, 90.0)],
        [],
    ],
    ids=["level", "saw-tooth", "plateau", "fall", "settling", "short", "empty"],
)
def test_memory_that_stops_growing_has_no_rate(course):
    assert trend(course).growth() is None


def test_lowest_limit_is_the_ceiling():
    assert ceiling(None, None, 8 << 30) == (MACHINE, 8 << 30)
    assert ceiling(2 << 30, 1 << 30, 8 << 30) == ("around", 1 << 30)
    assert ceiling(None, None, None) is None


def test_sentence_has_rate_and_time():
    growth = GrowthRate(36e6, 20.0, 700 * MB).record((MACHINE, 64_000 * MB))
    text = sentence(growth, "detached")
    assert all(part in text for part in ("36 MB/s", "20 s", "64 GB", "29 min"))
