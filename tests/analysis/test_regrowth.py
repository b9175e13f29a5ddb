"""Table `regrowth`: a warm-up told from a leak."""

import pytest

from beyond_ram.analysis.regrowth import fit

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
