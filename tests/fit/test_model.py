"""The model on memory with known parts: its predictions hold, and it makes none where memory bends."""

import math

import numpy as np
import pytest

from beyond_ram.fit.model import FitReading, Model
from beyond_ram.fit.small_runs import points

VARIED = {"workers": (0, 2, 4), "batch": (16, 64, 256)}
NAMES = list(VARIED)
TARGET, TIMES = 1_600_000, 8
SMALL = [12_500, 25_000, 50_000, 100_000]
NOISE = 0.003


def copied(workers, batch, rows):
    """Return the memory of objects that workers copy from their parent, and of batches in flight."""
    return 150e6 + 60e6 * workers + 500 * rows + 120 * rows * workers + 1e4 * batch * max(1, 2 * workers)


def readings(kept, seed):
    noise = np.random.default_rng(seed)

    def reading(setting, size):
        assert size
        return FitReading(setting, size, kept(*setting, size) * (1 + NOISE * noise.standard_normal()))

    small = [reading(point.setting, point.size) for point in points(VARIED, SMALL)]
    return [*small, reading((2, 64), TARGET // TIMES)]


def test_interval_widens_with_the_distance():
    model = Model(NAMES, readings(copied, 0))
    predictions_by_size = [model.predict((2, 64), size) for size in (TARGET / TIMES, TARGET, 4 * TARGET)]
    widths = [(prediction.high - prediction.low) / prediction.value for prediction in predictions_by_size]
    assert widths == sorted(widths)
    assert widths[0] < widths[-1] / 2


def in_blocks(size):
    return 7e6 + 50e6 * math.ceil(size / 50_000)


@pytest.mark.parametrize("sizes", [[62_500, 125_000, 250_000], [31_250, 62_500, 125_000, 250_000]])
def test_interval_holds_growth_in_blocks_that_looks_straight(sizes):
    model = Model([], [FitReading((), size, in_blocks(size)) for size in sizes])
    predicted = [model.predict((), size) for size in (500_000, 1_000_000, 2_000_000)]
    assert all(one.holds(in_blocks(size)) for one, size in zip(predicted, (500_000, 1_000_000, 2_000_000), strict=True))
    widths = [(one.high - one.low) / one.value for one in predicted]
    assert widths == sorted(widths)


@pytest.mark.parametrize(("exponent", "word"), [(1.2, "added more"), (0.7, "added less")])
def test_bent_growth_is_not_predicted(exponent, word):
    def bent(workers, batch, rows):
        return 60e6 * (1 + workers) + 1e8 * (rows / SMALL[-1]) ** exponent

    model = Model(NAMES, readings(bent, 0))
    assert word in str(model.doubt("rows"))


def test_shares_name_the_growing_parts():
    shares = Model(NAMES, readings(copied, 0)).shares((4, 256), TARGET, "rows")
    growing = sum(value for name, value in shares.items() if "rows" in name)
    assert growing == pytest.approx((500 + 120 * 4) * TARGET, rel=0.15)
    assert sum(shares.values()) == pytest.approx(Model(NAMES, readings(copied, 0)).predict((4, 256), TARGET).value)


def test_falling_memory_is_a_doubt():
    rising = [FitReading((0,), size, 1e8 + 100 * size) for size in (1e5, 2e5, 4e5)]
    assert Model(["n"], rising).doubt() is None
    assert "400,000" in str(Model(["n"], [*rising[:2], FitReading((0,), 4e5, 6e7)]).doubt())


def test_time_may_fall_with_workers():
    def seconds(setting, size):
        return 2 + 0.2 * setting[0] + size * 1e-5 / max(1, setting[0])

    varied = {"workers": (1, 2, 4, 8)}
    runs = [
        FitReading(point.setting, point.size or 0, seconds(point.setting, point.size or 0))
        for point in points(varied, [1000 * 100, 200_000, 400_000])
    ]
    model = Model(["workers"], runs, shrinks=True)
    times = [model.predict((workers,), 6_400_000).value for workers in (1, 2, 4, 8)]
    assert times == pytest.approx([seconds((workers,), 6_400_000) for workers in (1, 2, 4, 8)], rel=0.2)


def test_model_accepts_one_reading():
    model = Model(["workers"], [FitReading((0,), 1, 1e8)])
    assert model.predict((0,), 1).holds(1e8)


def test_three_sizes_are_enough_without_factors(sizes=(1e4, 2e4, 4e4)):
    model = Model([], [FitReading((), size, 5e7 + 1_000 * size) for size in sizes])
    assert model.predict((), 3.2e5).holds(5e7 + 1_000 * 3.2e5)
