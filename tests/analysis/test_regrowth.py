"""Table `regrowth`: a warm-up told from a leak."""

import pytest

from beyond_ram.analysis.regrowth import fit, regrowth

from .by_hand import MB, tree


@pytest.mark.parametrize(
    ("sizes", "found"),
    [
        ([10, 11, 11, 11, 11, 11], "levels off"),
        ([10, 20, 30, 40, 50, 60], "grows"),
        ([10, 20], "too few epochs"),
        ([10, 20, 30, 35, 20, 50], "unclear"),
    ],
)
def test_regrowth_tells_a_warm_up_from_a_leak(sizes: list[float], found: str) -> None:
    events = [{"t_s": n, "event": "epoch", "tree": tree(size * MB)} for n, size in enumerate(sizes)]
    assert fit(events, 10 * MB).verdict == found


def test_a_line_a_run_with_its_slope_over_the_later_epochs() -> None:
    cell = {"experiment": "e", "stack": "s", "epochs": 6, "rep": 1}
    sizes = [30, 35, 40, 50, 60, 70]
    events = [{"t_s": 0, "event": "imported", "tree": tree(10 * MB)}]
    events += [{"t_s": n, "event": "epoch", "tree": tree(size * MB)} for n, size in enumerate(sizes)]
    table = regrowth([({"cell": cell, "work": {"bytes_in": 60 * MB}}, events), ({"cell": cell, "work": {}}, [])])
    (line,) = table.to_dict("records")
    assert (line["epochs"], line["epoch_input_bytes"], line["first_epoch_bytes"]) == (6, 10 * MB, 20 * MB)
    assert line["slope_bytes"] == line["slope_bytes_low"] == line["slope_bytes_high"] == pytest.approx(10 * MB)
    assert line["regrowth"] == "grows"
    assert regrowth([]).empty
