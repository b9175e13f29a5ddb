"""Fewer samples to draw: none of the extremes is lost."""

import random

import pytest

from beyond_ram.report.thin import kept


@pytest.mark.parametrize("most", [40, 200])
@pytest.mark.parametrize("seed", range(5))
def test_extremes_stay(most: int, seed: int) -> None:
    number = random.Random(seed)
    times = sorted(number.uniform(0, 60) for _ in range(20_000))
    calm, spiky = [100.0 + number.random() for _ in times], [50.0] * len(times)
    peaks = {number.randrange(len(times)) for _ in range(5)}
    for place in peaks:  # of one sample each
        spiky[place] = number.uniform(500, 900)
    highest, lowest = max(calm), min(calm)
    places = kept(times, [calm, spiky], most)
    assert places == sorted({*places})
    assert places[0] == 0
    assert places[-1] == len(times) - 1
    assert max(spiky[place] for place in places) == max(spiky)
    assert (min(calm[place] for place in places), max(calm[place] for place in places)) == (lowest, highest)
    assert len(places) <= 2 * (most + 1) + 2
    # Of peaks that lie in spans of their own none is lost.
    spans = {place * (most // 2) // len(times) for place in peaks}
    assert len([place for place in places if spiky[place] > 400]) >= len(spans)


def test_what_is_short_is_whole() -> None:
    assert kept([0.0, 1.0, 2.0], [[1.0, 5.0, 1.0]], 40) == [0, 1, 2]
    assert kept([], [[]], 40) == []


def test_samples_at_one_time_are_no_trouble() -> None:
    values = [float(n % 7) for n in range(1000)]
    places = kept([1.0] * 1000, [values], 40)
    assert max(values[place] for place in places) == 6.0
