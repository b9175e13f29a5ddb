"""Numbers that a program reports."""

import math

import pytest

from beyond_ram.metrics import METRICS
from beyond_ram.metrics.reported import reported


def event(**fields):
    return {"event": "metric", "label": "new bytes", "unit": "bytes", "value": 3} | fields


def test_last_number_of_a_name_counts_and_its_name_says_what_it_is():
    numbers = reported(
        [event(better="lower", exact=True), event(value=5, better="lower", exact=True), event(value=None)]
    )
    assert numbers == {"new bytes [bytes, lower, exact]": 5}
    (metric,) = (METRICS[name] for name in numbers)
    assert (metric.label, metric.unit, metric.direction, metric.trust) == ("new bytes", "bytes", "lower", "exact")
    assert metric.decided_in("script")


@pytest.mark.parametrize(
    "fields",
    [{"label": "a [b], c\n" * 99}, {"unit": "x]y"}, {"better": "up"}, {"label": 7}, {"label": "", "unit": None}],
)
def test_any_label_and_unit_make_a_name(fields):
    (name,) = reported([event(**fields)])
    assert METRICS[name].direction == "neither"
    assert not METRICS[name].decided_in("script")
    assert math.isclose(reported([event(**fields)])[name], 3)


def test_other_names_are_no_metrics():
    assert "cpu_s" in METRICS
    assert not {"stack", "a [b]", "a [b, up]"} & {name for name in ("stack", "a [b]", "a [b, up]") if name in METRICS}
    assert not any("[" in name for name in METRICS)
