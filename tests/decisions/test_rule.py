"""The rule of decision: exact tests, floors, missing readings, orders, and what `same` says."""

import math

import numpy as np
import pytest
from scipy.stats import permutation_test

from beyond_ram.decisions import rule
from beyond_ram.decisions.rule import (
    LOOKS,
    MetricRule,
    Series,
    fewest_for,
    interval,
    rare,
    relabellings,
    statistic,
    turns,
)

MEMORY, FAILURES = MetricRule(), MetricRule(failures=True)


def decide(baseline, candidate, *metrics, fewest=LOOKS[0]):
    """The decisions at the last look, of every look at the readings."""
    series = Series(metrics or (MEMORY,), fewest)
    a, b = (np.asarray(side, float).reshape(len(side), -1) for side in (baseline, candidate))
    return [series.look(a[:n], b[:n]) for n in LOOKS if n <= len(a)][-1]


def result(baseline, candidate, *metrics, fewest=LOOKS[0]):
    return decide(baseline, candidate, *metrics, fewest=fewest)[0].result


def noisy(seed, n, middle=100.0, sd=0.05):
    return middle * (1 + sd * np.random.default_rng(seed).standard_normal(n))


@pytest.mark.parametrize("seed", range(5))
def test_one_look_is_the_permutation_test_of_scipy(seed):
    a, b = noisy(seed, 4), noisy(seed + 100, 4, 104)
    values = statistic(np.r_[a, b], MetricRule(share=1e-9))
    ours = np.mean(values >= values[0] - 1e-9)
    theirs = permutation_test((a, b), lambda x, y: np.mean(y) - np.mean(x), alternative="greater", n_resamples=np.inf)
    assert len(values) == 70
    assert ours == pytest.approx(theirs.pvalue)


def test_relabellings_keep_the_sides_balanced_from_look_to_look():
    for n in (4, 6, 8, 14):
        rows = relabellings(n)
        begin = 0
        for size in np.diff([0, *(look for look in LOOKS if look <= n)]):
            assert (rows[:, begin : begin + 2 * size].sum(1) == size).all()
            assert rows[0, begin : begin + 2 * size].tolist() == [0.0] * size + [1.0] * size
            begin += 2 * size
    assert len(np.unique(relabellings(6), axis=0)) == 70 * 6


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("factor", [1.0, 1.03, 1.2])
def test_sides_swapped_swap_better_and_worse(seed, factor):
    a, b = noisy(seed, 14, sd=0.02), noisy(seed + 50, 14, 100 * factor, 0.02)
    other = {"worse": "better", "better": "worse"}
    said = result(a, b)
    assert result(b, a) == other.get(said, said)
    assert result(a, b, MetricRule("higher")) == other.get(said, said)


def test_a_metric_without_a_better_direction_is_worse_both_ways():
    for change in (0.5, 2):
        assert result(noisy(1, 4, sd=0), noisy(1, 4, 100 * change, 0), MetricRule("neither")) == "worse"


def test_three_percent_between_constants_takes_four_runs_and_never_fewer():
    a, b = noisy(1, 4, sd=0.001), noisy(2, 4, 103, 0.001)
    assert result(a, b) == "worse"
    with pytest.raises(IndexError):
        decide(a[:3], b[:3])


def test_readings_that_differ_by_less_than_the_floor_do_not_hide_a_change_of_another_metric():
    written = [3.0, 3.0, 3.0, 2.0], [3.0, 2.0, 2.0, 2.0]  # two levels, on four runs each: the largest rank statistic
    memory = [25.14, 25.16, 25.12, 25.15], [95.33, 95.32, 95.35, 95.36]
    baseline, candidate = (np.column_stack(side) for side in zip(memory, written, strict=True))
    decisions = decide(baseline, candidate, MEMORY, MetricRule(floor=8000.0))
    assert [one.result for one in decisions] == ["worse", "same"]


@pytest.mark.parametrize(("metric", "said"), [
    (MetricRule(floor=8.0), "same"), (MetricRule(share=0.1), "same"), (MetricRule(floor=2.0), "worse"),
    (MEMORY, "worse"),
])  # fmt: skip
def test_change_below_the_floor_or_the_share_is_none(metric, said):
    assert result(noisy(1, 8, sd=0.001), noisy(2, 8, 105, 0.001), metric) == said


def test_floor_holds_for_zero_and_negative_readings():
    a = np.array([-1.0, 0, 2, 1])
    assert result(a, a + 3, MetricRule(floor=8.0)) == "same"
    assert result(a, a + 30, MetricRule(floor=8.0)) == "worse"
    assert MetricRule(floor=8.0).reading(float(MetricRule(floor=8.0).scaled(np.array(-3e4)))) == pytest.approx(-3e4)


def test_missing_readings():
    a, b = noisy(1, 8, sd=0.001), noisy(2, 8, 120, 0.001)
    for side in (a, b):
        side[1] = math.nan
    assert result(a, b) == "worse"
    assert result(a, a, fewest=8) == "undecided", "seven readings are too few"
    assert result(np.full(8, math.nan), b) == "undecided"


def test_failing_candidate_is_worse_and_both_failing_is_the_same():
    never, always, now_and_then = np.zeros(8), np.ones(8), np.array([1.0, 0] * 4)
    assert result(never, always, FAILURES) == "worse"
    assert result(always, never, FAILURES) == "better"
    assert result(always, always, FAILURES) == result(never, never, FAILURES) == "same"
    assert result(now_and_then, now_and_then, FAILURES) == "undecided"


def test_clocks_are_tested_apart():
    clock = MetricRule(decides=False)
    a = np.column_stack([noisy(1, 4, sd=0.001), noisy(3, 4, sd=0.5)])
    b = np.column_stack([noisy(2, 4, sd=0.001), noisy(4, 4, sd=0.5)])
    assert [one.result for one in Series((MEMORY, clock)).look(a, b)] == ["same", "undecided"]


def test_opposite_changes_are_found_together():
    a = np.column_stack([noisy(1, 4, sd=0.001), noisy(2, 4, sd=0.001)])
    b = np.column_stack([noisy(3, 4, 120, 0.001), noisy(4, 4, 60, 0.001)])
    assert [one.result for one in decide(a, b, MEMORY, MEMORY)] == ["worse", "better"]


@pytest.mark.parametrize("seed", range(8))
def test_interval_holds_no_change_unless_something_is_found(seed):
    for factor in (1.0, 1.04, 1.2):
        a, b = noisy(seed, 10, sd=0.02), noisy(seed + 90, 10, 100 * factor, 0.02)
        low, high = interval(MEMORY.scaled(a), MEMORY.scaled(b), MEMORY)
        said = result(a, b)
        assert low <= np.log(b).mean() - np.log(a).mean() <= high
        assert said != "worse" or low > 0
        assert said != "better" or high < 0
    assert interval(a[:5], b[:5], MEMORY) == (-math.inf, math.inf)


@pytest.mark.parametrize("metric", [MEMORY, FAILURES])
@pytest.mark.parametrize("late", [0, 2, 3])
def test_interval_of_two_levels_holds_the_change_that_was_measured(late, metric):
    a = np.where(np.arange(30) % 3, 40.0, 120.0) * (1 + 1e-4 * noisy(1, 30))
    b = np.where((np.arange(30) % 3 > 0) & (np.arange(30) >= late), 40.0, 120.0) * (1 + 1e-4 * noisy(2, 30))
    a, b = (side > 80 if metric.failures else metric.scaled(side) for side in (a, b))
    low, high = interval(1.0 * a, 1.0 * b, metric)
    assert low <= b.mean() - a.mean() <= high
    assert low < 0 < 0.2 < high


def test_interval_of_a_change_in_some_runs_that_is_not_confirmed_is_wide():
    """The readings of a script that took three times the memory in 7 of 30 runs."""
    a, b = (100 * (1 + 1e-4 * noisy(seed, 30, 1, 1)) for seed in (1, 2))
    b[[1, 3, 6, 12, 24, 27, 29]] *= 3
    low, high = interval(MEMORY.scaled(a), MEMORY.scaled(b), MEMORY)
    assert result(a, b) == "undecided"
    assert (high - low) / 2 > 0.9 * (np.log(b).mean() - np.log(a).mean())


def test_interval_of_levels_that_changed_reaches_to_the_change_that_was_measured():
    a = np.where(np.arange(30) % 2, 40.0, 120.0) * (1 + 1e-4 * noisy(1, 30, sd=0.001))
    b = (
        1.03
        * np.where((np.arange(30) % 2 > 0) & (np.arange(30) > 2), 40.0, 120.0)
        * (1 + 1e-4 * noisy(2, 30, sd=0.001))
    )
    low, high = interval(MEMORY.scaled(a), MEMORY.scaled(b), MEMORY)
    assert result(a, b) == "worse"
    assert 0 < low <= np.log(b).mean() - np.log(a).mean() <= high


def test_first_eight_runs_are_in_any_of_seventy_orders():
    orders = [tuple(who for repeat in range(1, 5) for who, _ in turns(2, repeat, seed)) for seed in range(2000)]
    assert {*map(sum, orders)} == {4}
    assert len({*orders}) == 70
    runs = [run for repeat in range(1, LOOKS[-1] + 1) for run in turns(2, repeat, 5)]
    assert sorted(runs) == [(who, number) for who in (0, 1) for number in range(1, LOOKS[-1] + 1)]


def test_fewest_runs_for_rare_changes():
    for share in (0.1, 0.3, 0.5):
        n = fewest_for(share)
        assert rare(n) <= share < rare(n - 1)
    for bad in (0.0, 0.09, 1.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="at most 30"):
            fewest_for(bad)
    tripled = np.where(np.arange(8) < 1, 300.0, 100.0)
    assert result(np.full(8, 100.0), tripled, fewest=8) == "undecided", "one of eight runs is seen"


@pytest.mark.parametrize(
    ("high", "split"), [([110.0, 110.1, 110.2, 110.3], True), ([110.0, 120.0, 130.0, 140.0], False)]
)
def test_readings_are_split_only_where_the_gap_exceeds_both_ranges(high, split):
    low = [100.0, 100.1, 100.2, 100.3]
    sides = [(MEMORY.scaled(np.array(low)), MEMORY.scaled(np.array(high)), MEMORY)]
    assert (rule._levels(sides) is rule._SPLIT) is split


def test_levels_of_all_looks_add_up_to_what_is_promised():
    for share in (1.0, 0.5, 0.2, 0.01):
        assert sum(rule.spending(share).values()) <= 0.025 * share + 1e-9
    assert max(sum(levels.values()) for levels in (rule._WHOLE, rule._SPLIT)) <= 0.025 + 1e-9
    assert rule._SAME[4] + rule._SAME_LATER * len(LOOKS[1:]) <= 0.045
