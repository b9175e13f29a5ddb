"""The small runs: enough for the model, but fewer than the grid."""

import itertools

from beyond_ram.fit.small_runs import DesignPoint, base, points

VARIED = {"workers": (0, 2, 4, 8, 16), "batch": (16, 64, 256), "depth": (1, 2)}
SIZES = [100, 200, 400, 800]


def test_every_value_and_pair_of_largest_values_is_run():
    chosen = points(VARIED, SIZES)
    settings = {point.setting for point in chosen}
    assert {setting[0] for setting in settings} == {*VARIED["workers"]}
    assert {(16, 256, 1), (16, 16, 2), (0, 256, 2), (16, 256, 2)} <= settings
    assert len(chosen) == len({*chosen})
    assert len(chosen) < len(SIZES) * len(list(itertools.product(*VARIED.values()))) / 3


def test_base_setting_has_every_size_and_a_repeat():
    at_base = [point for point in points(VARIED, SIZES) if point.setting == base(VARIED)]
    assert at_base == [*(DesignPoint(base(VARIED), size) for size in SIZES), DesignPoint(base(VARIED), 800, repeat=2)]


def test_without_a_growing_size_each_setting_is_run():
    chosen = points({"workers": (0, 4)}, [])
    assert chosen == [DesignPoint((0,), None), DesignPoint((0,), None, repeat=2), DesignPoint((4,), None)]
