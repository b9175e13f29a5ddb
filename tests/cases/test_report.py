"""What a script may report."""

import runpy
from pathlib import Path

import pytest

NUMBER = runpy.run_path(str(Path(__file__).parents[2] / "cases/workflow/phases.py"))["number"]


@pytest.mark.parametrize(("value", "better"), [(1, "up"), ("5 MB", "lower"), (float("nan"), "lower"), (True, "lower")])
def test_number_that_no_table_could_hold_is_refused(value, better):
    with pytest.raises(ValueError, match="number 'held'"):
        NUMBER("held", value, "bytes", better=better)
