"""Table `growth` from runs whose memory is known."""

import math

import numpy as np
import pandas as pd
import pytest

from beyond_ram.analysis.frame import key
from beyond_ram.analysis.growth import growth, judged, missing_mb, read_closely, traces

from .by_hand import MB, events, record
from .simulated import readings_of, shapes

PAIRS = [("old", "new")]


def run(memory, **cell):
    """A run that reads its memory, in MB, before each 2 MB of text; the first reading is before any text."""
    work = [event | {"pid": 1} for event in events(float(memory[-1]) * MB)]
    progress = [
        {"t_s": 2, "event": "progress", "pid": 1, "bytes_in": int(2e6 * i), "anon_bytes": mb * MB, "file_bytes": 50.0}
        for i, mb in enumerate(memory)
    ]
    return record(bytes_in=2e6 * len(memory), **cell), [*work, *progress]


def cell(memory, stack="new", rep=1):
    """A cell with two sizes; the larger one has these readings."""
    return [run(memory[:5], stack=stack, num_files=5, rep=rep), run(memory, stack=stack, num_files=17, rep=rep)]


def readings(rate, level=0.0, seed=1):
    rng = np.random.default_rng(seed)
    x = np.arange(17) * 2.0
    return 100 + rate * x + level * (1 - np.exp(-x / 3)) + rng.normal(0, 2, 17)


@pytest.mark.parametrize(("rate", "level", "shape"), [(16, 0, "straight"), (0, 150, "levels off"), (0, 0, "flat")])
def test_growth_is_judged_by_readings_within_a_run(rate, level, shape):
    line = growth(cell(readings(rate, level)), []).iloc[0]
    assert line["anon_shape"] == shape
    assert line["readings_of"] == "documents"
    assert line["readings"] == 16, "the reading before any text is a one-time cost"
    if shape == "straight":
        assert line["anon_slope_mb_per_gb_low"] < 16_000 < line["anon_slope_mb_per_gb_high"]
    if shape == "levels off":
        assert line["anon_level_mb"] == pytest.approx(250, rel=0.03)
    assert math.isnan(line["anon_level_mb"]) == (shape != "levels off")


# Readings of REVIEW.md 3.1: 272 to 291 MB from 10 to 30 MB of text, after a first rise.
FALSE_LEVEL = (30, 36, 195, 205, 215, 275, 281, 279, 275, 289, 277, 272, 278, 277, 280, 276, 278)


def test_size_of_a_word_is_that_of_the_text_or_unknown():
    runs = cell(readings(16))
    assert math.isnan(growth(runs, []).iloc[0]["word_bytes"])
    for _, marks in runs:
        next(mark for mark in marks if mark["event"] == "work").update(words=17, bytes_in=34e6)
    assert growth(runs, []).iloc[0]["word_bytes"] == 2e6


def test_a_level_lies_within_its_own_readings():
    """The fit once said 210 MB, because of the first reading and the rise after it."""
    line = growth(cell(np.array(FALSE_LEVEL, float)), []).iloc[0]
    assert line["anon_shape"] == "levels off"
    assert line["anon_level_mb"] == pytest.approx(np.mean(FALSE_LEVEL[6:]), abs=2)


class Sampled:
    """Samples every 0.1 s of memory that rises to a level, and is higher for a while within each batch."""

    def of(self, place):
        t = np.arange(0, 40, 0.1)
        held_mb = 100 + 840 * (1 - np.exp(-t / 6)) + np.random.default_rng(place).normal(0, 2, len(t))
        batch = np.where(np.arange(len(t)) % 4 == 0, 0, 300.0)
        return pd.DataFrame(
            {"t_s": t, "processes": 1, "anon_bytes": (held_mb + batch) * MB, "file_bytes": 50e6, "rss_bytes": 0.0}
        )


class Forked(Sampled):
    def of(self, place):
        return super().of(place).assign(processes=2)


def batches(number, rep=1):
    """A run of a few batches of 10 s and 8 MB each."""
    held_mb = 100 + 840 * (1 - np.exp(-np.arange(5) * 10 / 6))
    progress = [
        {"t_s": 10.0 * i, "event": "progress", "pid": 1, "bytes_in": int(8e6 * i)}
        | {"anon_bytes": held_mb[i] * MB, "file_bytes": 50e6}
        for i in range(number)
    ]
    end = [
        event | {"pid": 1, "t_s": 10.0 * number} for event in events(held_mb[number] * MB) if event["event"] == "work"
    ]
    return record(bytes_in=8e6 * number, num_files=number, rep=rep), [*progress, *end]


def test_samples_between_few_batches_show_the_plateau():
    """REVIEW.md 3.11: four batches per run, and readings that clearly level off."""
    runs = [batches(number, rep) for number in (1, 2, 4) for rep in (1, 2)]
    without_samples = growth(runs, []).iloc[0]
    assert without_samples["anon_shape"] == "undecided"
    line = growth(runs, [], Sampled()).iloc[0]
    assert (line["readings_of"], line["anon_shape"]) == ("samples", "levels off")
    assert line["anon_level_mb"] == pytest.approx(930, rel=0.02), (
        "memory that batches hold for a while is not in the level"
    )
    assert read_closely(runs, Forked(), [4, 5]) == runs[4:], "each process has a part of the memory"
    many = [run(np.arange(17.0), num_files=n) for n in (1, 2)]
    assert read_closely(many, Sampled(), [0, 1]) == many, "enough readings between documents"


def test_rate_from_little_text_is_not_stated():
    """REVIEW.md 4.3: 30.78 MB per MB of text, from 1.2 to 4 MB, read as "1 GB needs 30 GB"."""
    little = [(record(bytes_in=s, num_files=n), e) for n, (s, e) in enumerate(_ends(1.2, 2.2, 3.1, 4.0), 1)]
    line = growth(little, []).iloc[0].to_dict()
    assert line["anon_shape"] == "grows"
    assert missing_mb(line) == pytest.approx(20 - 2.8)
    assert missing_mb(growth(cell(readings(16)), []).iloc[0].to_dict()) == 0


def _ends(*sizes_mb):
    return [(size * 1e6, events(100e6 + 30.78e6 * size + 1e5 * (i % 2))) for i, size in enumerate(sizes_mb)]


def test_bent_growth_is_not_called_straight():
    x = np.arange(17) * 2.0
    bent = 100 + 300 * (1 - np.exp(-x / 30)) + np.random.default_rng(1).normal(0, 1, 17)
    assert growth(cell(bent), [])["anon_shape"].item() == "grows"


def test_slope_that_readings_do_not_show_is_undecided():
    wild = 100 + np.random.default_rng(1).normal(0, 60, 17)
    assert growth(cell(wild), [])["anon_shape"].item() == "undecided"
    two = growth([(record(bytes_in=s, num_files=n), events(24 * s)) for n, s in ((1, 1e8), (2, 2e8))], [])
    assert two["anon_shape"].item() == "undecided"
    assert math.isnan(two["anon_slope_mb_per_gb_low"].item())
    assert two["anon_slope_mb_per_gb"].item() == pytest.approx(24_000)


def test_runs_without_readings_are_judged_by_their_ends():
    ends = [
        (record(bytes_in=1e8 * n, num_files=n, rep=rep), events(2e8 + 16e8 * n + 1e6 * (n % 3) + rep))
        for n in range(1, 5)
        for rep in (1, 2)
    ]
    line = growth(ends, []).iloc[0]
    assert (line["readings_of"], line["readings"], line["n"]) == ("sizes", 4, 8)
    assert line["anon_shape"] == "grows", "four ends tell no line from a curve"
    assert line["anon_slope_mb_per_gb"] == pytest.approx(16_000, rel=0.01)


def test_one_size_has_no_line_and_failed_runs_do_not_count():
    one_size = growth([(record(bytes_in=1e8, rep=i), events(1e9)) for i in (1, 2)], PAIRS)
    assert one_size.empty
    assert {"experiment", "stack", "anon_slope_mb_per_gb", "difference_result"} <= set(one_size.columns)
    broken = run(readings(0), num_files=40, outcome="failed", completed_work=False)
    assert growth([*cell(readings(16)), broken], [])["readings"].item() == 16


def test_two_stacks_are_compared_by_document():
    # Growth that both stacks share adds no noise to their difference.
    common = np.cumsum(np.random.default_rng(3).normal(0, 30, 17))
    old, new = readings(16, seed=1) + common, readings(0, seed=2) + common
    table = growth([*cell(old, "old"), *cell(new)], PAIRS).set_index("stack")
    line = table.loc["new"]
    assert (line["against"], line["difference_result"]) == ("old", "better")
    assert line["difference_low"] < -16_000 < line["difference_high"]
    own = table["anon_slope_mb_per_gb_high"] - table["anon_slope_mb_per_gb_low"]
    assert line["difference_high"] - line["difference_low"] < own.min() / 2
    assert pd.isna(table.loc["old", "difference_result"])


def test_equal_stacks_show_no_difference():
    table = growth([*cell(readings(16, seed=1), "old"), *cell(readings(16, seed=2))], PAIRS).set_index("stack")
    assert table.loc["new", "difference_result"] in ("undecided", "same")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "right", "at_least"),
    [("straight", {"straight"}, 0.85), ("levels off", {"levels off"}, 0.8), ("flat", {"flat", "undecided"}, 0.9)],
)
def test_simulated_memory_is_judged_right(kind, right, at_least):
    counted, covered_share = shapes(kind, 16, 40, np.random.default_rng(5))
    assert sum(counted.get(shape, 0) for shape in right) >= at_least
    assert counted.get("straight", 0) <= (1 if kind == "straight" else 0.05)
    assert math.isnan(covered_share) or covered_share >= 0.85


def test_the_points_of_some_cells_are_read():
    runs = [*cell(readings(16), "old"), *cell(readings(0))]
    first, second = (key(line) for line in growth(runs, []).to_dict("records"))
    assert [key(one) for one, _ in traces(runs, None, {second})] == [second] != [first]


def test_earlier_memory_does_not_change_the_slope():
    x, y = readings_of("straight", 16, np.random.default_rng(1))
    assert judged(x, y).slope.low == pytest.approx(judged(x + 1, y + 500).slope.low, rel=1e-6)
