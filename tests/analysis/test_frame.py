"""Axes of a table, and lines that are the same but for some of them."""

import pandas as pd
import pytest

from beyond_ram.analysis import frame
from beyond_ram.experiment import AXES
from beyond_ram.metrics import METRICS

TABLE = pd.DataFrame(
    [
        {"experiment": "e", "stack": stack, "workers": workers, "remedy": None, "rep": rep, "requests": 9}
        for stack in ("old", "new")
        for workers in (0, 2)
        for rep in (1, 2)
    ]
)


def test_axes_of_a_table_are_those_with_values_and_repeats_stay_together():
    assert frame.axes(TABLE) == ["experiment", "stack", "workers"]
    assert frame.varied(TABLE) == ["stack", "workers"]
    cells = list(frame.cells(TABLE))
    assert [len(lines) for _, lines in cells] == [2, 2, 2, 2]
    assert cells[0][0] == {"experiment": "e", "stack": "old", "workers": 0}


def test_same_but_for_an_axis_differs_in_that_axis_only():
    for cell, lines in frame.same_but_for(TABLE, "stack"):
        assert set(lines["stack"]) == {"old", "new"}
        assert set(lines["workers"]) == {cell["workers"]}
    with pytest.raises(KeyError, match="no such axis: colour"):
        list(frame.same_but_for(TABLE, "colour"))
    assert not list(frame.same_but_for(TABLE.head(0), "stack"))


def test_missing_value_on_an_axis_is_a_value_of_its_own():
    table = TABLE.assign(remedy=["none", None, *["none"] * 6])
    assert len(list(frame.cells(table))) == 5


def test_axis_values_in_words():
    words = frame.describe({"workers": 4, "latency_ms": 50, "redirect": "yes", "mode": "shard"}, AXES)
    assert sorted(words) == ["4 workers", "latency 50 ms", "redirect yes", "shard"]
    assert frame.describe({"workers": 0, "start": "none"}, AXES) == ["no workers"]
    words = {*frame.describe({"epochs": 1, "shards": 1, "latency_ms": 1}, AXES)}
    assert words == {"1 epoch", "1 shard", "latency 1 ms"}
    assert frame.describe({"num_proc": 1}, AXES) == ["1 process"]
    assert frame.describe({"limit_percent": 0}, AXES) == ["no memory limit"]


def test_no_metric_has_the_name_of_an_axis():
    """One would hide the other in a table that has both."""
    assert not set(METRICS) & set(AXES)
