"""Every path of a run is read back as its cell, and made by one rule."""

import re

import pytest

from beyond_ram.experiment import Cell, interrupted_pattern, load, parse, run_pattern


def test_every_path_is_read_back_as_its_cell(config, root):
    checked = load(config, root=root)
    cells = [cell for name in checked.experiments for cell in checked.cells(name)]
    assert len({cell.path for cell in cells}) == len(cells) > 10
    single = re.compile(run_pattern(checked.run()))
    both = re.compile("{head}/cache~(?:interrupted|rerun)/{tail}".format(**interrupted_pattern(checked.run())))
    for cell in cells:
        assert parse(cell.path) == cell
        assert bool(single.fullmatch(cell.path)) != bool(both.fullmatch(cell.path)), "exactly one rule makes it"
        kept = cell.replace(stack=f"{cell['stack']}@0123abcd").path
        assert not single.fullmatch(kept)
        assert not both.fullmatch(kept)


@pytest.mark.parametrize(
    "path",
    ["", "growth", "growth/rep", "growth/stack~a~b/rep~1", "growth/stack~a", "growth/rep~x", "growth/stack~a/epochs~1"],
)
def test_a_path_outside_the_grammar_is_refused(path):
    with pytest.raises(ValueError, match="not a run's folder"):
        parse(path)


def test_a_value_that_would_break_the_path_is_refused():
    with pytest.raises(ValueError, match="cannot stand in a path"):
        _ = Cell("growth", (("stack", "a/b"),), 1).path
