"""Repeats of a metric: ratios and means with their intervals."""

import math

import pytest

from beyond_ram.analysis import compare


def test_the_interval_of_a_mean_is_students_on_logarithms() -> None:
    found = compare.mean([1.0, 2.0, 4.0])
    assert found.mean == pytest.approx(2)
    assert found.low * found.high == pytest.approx(4)
    assert found.low == pytest.approx(0.357, abs=0.001)  # exp(ln 2 - 4.3027 * ln 2 / sqrt 3)
    with pytest.raises(ValueError, match="above 0"):
        compare.mean([1.0, 0.0])


def test_a_ratio_has_an_interval_that_covers_the_truth() -> None:
    found = compare.ratio([100, 102, 98, 101], [51, 49, 50, 50.5])
    assert found.low < 0.5 < found.high
    assert found.significant
    assert not compare.ratio([100, 102, 98], [101, 99, 100]).significant
    assert math.isnan(compare.ratio([100], [50]).low)
    assert math.isnan(compare.ratio([0, 1], [1, 1]).ratio)
