"""Table `regrowth`: a warm-up or a leak, decided over runs."""

import numpy as np
import pytest

from beyond_ram.analysis.regrowth import over, regrowth

from .by_hand import MB, tree


def run(sizes, rep=1, *, completed=True):
    cell = {"experiment": "e", "stack": "s", "epochs": 6, "rep": rep}
    events = [{"t_s": 0, "event": "imported", "tree": tree(10 * MB)}]
    events += [{"t_s": n, "event": "epoch", "tree": tree(size * MB)} for n, size in enumerate(sizes)]
    return {"cell": cell, "completed_work": completed, "work": {"bytes_in": 60 * MB}}, events


@pytest.mark.parametrize(
    ("repeats", "shape", "reason"),
    [
        ([[10, 11, 11, 11, 11, 11], [10, 12, 12, 12, 12, 12]], "levels off", ""),
        ([[10, 20, 30, 40, 50, 60], [10, 20, 30, 40, 50.2, 60]], "grows", ""),
        ([[10, 20, 30, 40], [10, 20, 30, 40]], "undecided", "too few epochs"),
        ([[10, 20, 30, 40, 50, 60], [10, 11, 11, 11, 11, 11]], "undecided", "too noisy"),
        ([[10, 20, 30, 40, 50, 60]], "undecided", "too few repeats"),
    ],
)
def test_regrowth_tells_a_warm_up_from_a_leak_over_runs(repeats, shape, reason):
    (line,) = regrowth([run(sizes, rep) for rep, sizes in enumerate(repeats, 1)]).to_dict("records")
    assert (line["regrowth"], line["reason"]) == (shape, reason)
    assert line["n"] == len(repeats)


@pytest.mark.parametrize(("rows", "each"), [(9, 60), (54, 10)])
def test_epoch_input_follows_the_rows_that_it_delivered(rows, each):
    """Some workloads report `bytes_in` for one epoch, others for all."""
    record, events = run([10, 20, 30, 40, 50, 60])
    record["work"]["rows"] = rows
    numbered = [event | {"epoch": event["t_s"], "rows_delivered": 9} for event in events if event["event"] == "epoch"]
    (line,) = regrowth([(record, [events[0], *numbered])]).to_dict("records")
    assert line["epoch_input_bytes"] == each * MB


def test_one_line_for_all_runs_with_an_interval():
    grown = [run([30, 35, 40, 50, 60, 70]), run([30, 35, 40, 50, 62, 74], 2), run([99] * 6, 3, completed=False)]
    (line,) = regrowth([*grown, ({"cell": {}, "completed_work": True, "work": {}}, [])]).to_dict("records")
    assert (line["epochs_read"], line["epoch_input_bytes"], line["first_epoch_bytes"]) == (6, 10 * MB, 20 * MB)
    assert line["n"] == 2, "the failed run does not count"
    assert line["slope_bytes"] == pytest.approx(11 * MB)
    assert line["slope_bytes_low"] == pytest.approx((11 - 12.706) * MB, rel=1e-3)
    assert regrowth([]).empty


def test_equal_runs_still_scatter_by_a_page():
    assert 8e6 - over([8e6, 8e6], 1e6)["slope_bytes_low"] == pytest.approx(12.706 * 4096 / 2**0.5, rel=1e-3)


@pytest.mark.parametrize("n", [2, 8])
def test_intervals_of_simulated_runs_cover_the_truth(n):
    rng = np.random.default_rng(1)
    covering = 0
    for _ in range(1000):
        growth = over(rng.normal(2e6, 4e5, n).tolist(), 1e6)
        covering += growth["slope_bytes_low"] <= 2e6 <= growth["slope_bytes_high"]
    assert 0.93 <= covering / 1000 <= 0.97
