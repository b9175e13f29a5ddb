"""The folder of a cell."""

import pytest

from beyond_ram.experiment import Cell


def test_a_value_that_would_break_the_path_is_refused():
    with pytest.raises(ValueError, match="cannot stand in a path"):
        _ = Cell("growth", (("stack", "a/b"),), 1).path
