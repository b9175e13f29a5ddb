"""The text of values with their units."""

import math

import pytest

from beyond_ram.units import amount


@pytest.mark.parametrize(
    ("value", "unit", "written"),
    [
        pytest.param(1575621.4, "rows/CPU-s", "1,576,000 rows/CPU-s", id="no more digits than are known"),
        pytest.param(51_114_000, "bytes", "51.11 MB", id="bytes as MB"),
        pytest.param(-999.96, "s", "-1,000 s", id="rounded into the next digit"),
        pytest.param(8, "requests", "8 requests", id="a count"),
        pytest.param(0, "s", "0 s", id="zero"),
        pytest.param(math.nan, "bytes", "", id="not known"),
    ],
)
def test_value_has_four_digits_and_its_unit(value, unit, written):
    assert amount(value, unit) == written


def test_difference_has_its_sign():
    assert [amount(value, "bytes", signed=True) for value in (2e6, -2e6, 2.3456e9)] == ["+2 MB", "-2 MB", "+2,346 MB"]
