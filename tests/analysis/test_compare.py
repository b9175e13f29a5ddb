"""Repeats of a rate: means with their intervals."""

import pytest

from beyond_ram.analysis import compare


def test_the_interval_of_a_mean_is_students_on_logarithms() -> None:
    found = compare.mean([1.0, 2.0, 4.0])
    assert found.mean == pytest.approx(2)
    assert found.low * found.high == pytest.approx(4)
    assert found.low == pytest.approx(0.357, abs=0.001)  # exp(ln 2 - 4.3027 * ln 2 / sqrt 3)
    with pytest.raises(ValueError, match="above 0"):
        compare.mean([1.0, 0.0])
