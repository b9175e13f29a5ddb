"""Decisions: known answers, properties that hold for any data, and simulation."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from beyond_ram.analysis.decide import (
    Question,
    SideValues,
    arithmetic,
    decide,
    differences,
    geometric,
    holm,
    interleaved,
    one_session,
    strength,
)
from beyond_ram.analysis.noise import Noise, Spread
from beyond_ram.analysis.results import FEW, SMALL
from beyond_ram.analysis.thresholds import Threshold, threshold_of

from . import simulated


def compare(baseline, candidate, **fields):
    """Decide one question alone."""
    return decide([simulated.Asked(baseline, candidate, **fields)])[0]


SIZE = st.floats(1e7, 1e12)
SIDES = st.integers(2, 6).flatmap(lambda n: st.tuples(*[st.lists(SIZE, min_size=n, max_size=n)] * 2))
OPPOSITE = {"better": "worse", "worse": "better"}


def plain(*values):
    return SideValues(tuple(map(float, values)))


def at(values, starts, took=1.0):
    """Repeats 1, 2, … that began at these times."""
    return SideValues(tuple(values), tuple(range(1, len(values) + 1)), tuple(starts), tuple(t + took for t in starts))


def test_single_comparison_is_the_paired_t_test_on_logarithms():
    """Without other comparisons to share noise with, scipy's own test gives the same."""
    first, second = [100.0, 104.0, 99.0, 101.0], [150.0, 149.0, 155.0, 160.0]
    comparison = compare(plain(*first), plain(*second), direction="lower")
    t_test = stats.ttest_rel(np.log(second), np.log(first))
    interval = t_test.confidence_interval(0.95)
    assert comparison.p == pytest.approx(t_test.pvalue)
    assert (comparison.low, comparison.high) == pytest.approx(
        (math.exp(interval.low), math.exp(interval.high)), rel=1e-9
    )
    assert comparison.ratio == pytest.approx(stats.gmean(second) / stats.gmean(first))
    assert comparison.result == "worse"
    assert comparison.strength == pytest.approx(interval.low)


def test_unequal_numbers_of_repeats_all_count():
    apart = differences(np.array([1.0, 2.0, 6.0]), np.array([10.0, 14.0]))
    assert apart.mean() == pytest.approx(12 - 3)
    assert differences(np.array([10.0, 14.0]), np.array([1.0, 2.0, 6.0])).mean() == pytest.approx(3 - 12)


def test_only_alternating_runs_are_paired():
    side = at([1, 2, 3], [0, 10, 20])
    assert interleaved(side, at([1, 2, 3], [2, 12, 22])) == [1, 2, 3]
    assert interleaved(side, at([1, 2, 3], [100, 110, 120])) == [], "one side after the other"
    assert interleaved(side, at([1, 2, 3], [2, 12, 22], took=10)) == [], "blocks overlap"
    assert interleaved(side, replace(at([1, 2, 3], [2, 12, 22]), started_at=(2, math.nan, 22))) == []
    assert interleaved(side, plain(1, 2, 3)) == [], "times are unknown"
    assert interleaved(at([1, 2, 3], [20, 10, 0]), at([1, 2, 3], [22, 12, 2])) == [1, 2, 3], "backwards in time"


def test_runs_a_night_apart_are_two_sessions():
    hour, first = 3600.0, SideValues((1.0,), (1,), (0.0,), (3600.0,))
    for gap, same in ((5.5 * hour, True), (7 * hour, False)):
        start = hour + gap
        assert one_session(first, SideValues((1.0,), (1,), (start,), (start + hour,))) is same


def test_pairing_removes_what_a_block_shares():
    first, second = [100.0, 200.0, 400.0], [110.0, 221.0, 439.0]
    together = compare(
        at(first, [0, 10, 20]), at(second, [2, 12, 22]), direction="lower", threshold=Threshold(share=0.01)
    )
    assert together.paired
    assert together.result == "worse"
    apart = compare(at(first, [0, 10, 20]), at([221.0, 439.0, 110.0], [50, 60, 70]), direction="lower")
    assert not apart.paired
    assert apart.result == "undecided"


def test_equal_counts_are_exact_unless_others_of_the_metric_vary():
    alone = compare(plain(65, 65), plain(129, 129), metric="rows_at_fault")
    assert (alone.exact, alone.result, alone.low, alone.high) == (True, "worse", alone.ratio, alone.ratio)
    racing = Question(plain(65, 70), plain(69, 66), "rows_at_fault")
    beside, _ = decide([Question(plain(65, 65), plain(67, 67), "rows_at_fault"), racing])
    assert not beside.exact
    assert beside.low < 1 < beside.high
    assert not compare(plain(65), plain(129), metric="rows_at_fault").exact
    read = compare(plain(65e6, 65e6), plain(129e6, 129e6), metric="grown_anon_bytes")
    assert not read.exact, "readings that agree may do so by chance"
    assert read.low < read.ratio < read.high
    raced = compare(plain(38, 38), plain(16, 16), metric="requests_metadata")
    assert not raced.exact, "requests of several processes race"
    assert raced.low < raced.ratio < raced.high


def test_counts_from_zero_have_a_difference_and_no_ratio():
    comparison = compare(plain(0, 0), plain(8, 8), metric="rows_at_fault")
    assert math.isnan(comparison.ratio)
    assert (comparison.difference, comparison.low, comparison.result) == (8, 8, "worse")
    assert comparison.strength == pytest.approx(math.log(8))


def test_same_needs_the_whole_interval_within_the_threshold():
    inside = compare(plain(100e6, 101e6, 100e6), plain(101e6, 101e6, 102e6), metric="peak_grown_anon_bytes")
    assert inside.result == "same"
    wild = compare(plain(100e6, 150e6, 100e6), plain(101e6, 101e6, 152e6), metric="peak_grown_anon_bytes")
    assert wild.result == "undecided"
    assert wild.detectable > 1.2


@pytest.mark.parametrize("seed", range(3))
def test_corrected_interval_excludes_one_exactly_if_confirmed(seed):
    chance = np.random.default_rng(seed)
    questions = [
        Question(
            plain(*chance.lognormal(20, noise, 3)),
            plain(*chance.lognormal(20 + effect, noise, 3)),
            f"{metric} [x, neither]",
        )
        for effect in (0, 0, 0.1, 0.5, 2)
        for noise in (0.01, 0.1)
        for metric in ("a", "b")
    ]
    decided = decide(questions)
    confirmed = [decision.p_corrected < 0.05 for decision in decided]
    assert any(confirmed)
    assert not all(confirmed)
    for decision, is_confirmed in zip(decided, confirmed, strict=True):
        low, high = decision.ratio / decision.detectable, decision.ratio * decision.detectable
        assert (low > 1 or high < 1) == is_confirmed == (max(decision.ratio, 1 / decision.ratio) > decision.detectable)


def test_real_difference_below_the_threshold_is_same():
    close = [plain(*(100e6 + d for d in (0, 1e5, 2e5, 1e5, 0))), plain(*(106e6 + d for d in (1e5, 0, 1e5, 2e5, 0)))]
    comparison = compare(*close, metric="peak_grown_anon_bytes")
    assert comparison.result == "same", "within 8 MB"
    assert compare(*close, metric="peak_grown_anon_bytes", threshold=Threshold(share=0.01)).result == "worse"
    speed = [plain(1000, 1001, 1002), plain(930, 931, 933)]
    assert compare(*speed, metric="tokens_per_cpu_s").result == "worse"


def test_difference_that_may_be_below_the_threshold_is_undecided():
    """The interval of 4.4 %, from 3.3 % to 5.4 %, excludes zero and includes the threshold of 5 %."""
    effects = (0.036, 0.039, 0.047, 0.050)
    decision = compare(plain(*[100.0] * 4), plain(*(100 * math.exp(one) for one in effects)), direction="lower")
    assert (decision.result, decision.reason, decision.confirmed) == ("undecided", SMALL, True)
    assert decision.low > 1
    assert decision.high > 1.05


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


def test_more_comparisons_make_each_harder_to_confirm():
    strong = simulated.Asked(plain(100, 101, 100), plain(108, 110, 109), direction="lower")
    idle = [Question(plain(5, 6, 7), plain(6, 7, 5), f"idle {i} [x, neither]") for i in range(40)]
    alone, among = decide([strong])[0], decide([strong, *idle])[0]
    assert alone.result == "worse"
    assert among.result == "undecided"
    assert (alone.p, alone.low) == (among.p, among.low), "the interval is for the one comparison"
    assert among.detectable > alone.detectable


def test_cells_of_one_metric_share_their_noise():
    """Two repeats are too few alone, and enough among cells that are as quiet."""
    rng = np.random.default_rng(1)
    pair = Question(plain(100, 100.1), plain(102, 102.3), "tokens_per_cpu_s")
    quiet = [
        Question(plain(*(100 + 0.1 * rng.normal(size=2))), plain(*(100 + 0.1 * rng.normal(size=2))), pair.metric)
        for _ in range(11)
    ]
    alone, among = compare(pair.baseline, pair.candidate, metric=pair.metric), decide([pair, *quiet])[0]
    assert among.p < alone.p / 5
    assert among.high - among.low < (alone.high - alone.low) / 3


@given(SIDES)
@settings(max_examples=60, deadline=None)
def test_swapped_sides_reverse_the_result(sides):
    forward, back = (compare(plain(*a), plain(*b), direction="lower") for a, b in (sides, sides[::-1]))
    assert back.p == pytest.approx(forward.p, rel=1e-6, abs=1e-12)
    assert 1 / back.ratio == pytest.approx(forward.ratio, rel=1e-9)
    if "same" not in (forward.result, back.result):  # the threshold is a share of the other baseline
        assert back.result == OPPOSITE.get(forward.result, forward.result)


@pytest.mark.parametrize("sides", [((1e8,), (9e8,)), ((1e8, 1e8, 1e8), (9e8,)), ((1e8,), (9e8, 9e8))])
def test_one_run_never_decides(sides):
    comparison = compare(*(plain(*values) for values in sides), direction="lower")
    assert (comparison.result, comparison.reason) == ("undecided", FEW)
    assert not (comparison.exact or comparison.confirmed)
    assert comparison.strength == 0
    assert math.isnan(comparison.low)


def test_a_mean_has_an_interval_from_two_repeats_on():
    estimate = arithmetic([1, 2, 3])
    assert (estimate.mean, estimate.low, estimate.high) == pytest.approx(
        (2, 2 - 4.3027 / 3**0.5, 2 + 4.3027 / 3**0.5), abs=1e-3
    )
    assert math.isnan(arithmetic([2]).low)
    assert arithmetic([2.0, 2.0]).low == pytest.approx(2 - 12.706 * 0.002 / 2**0.5, abs=1e-5), (
        "they may agree by chance"
    )


def test_strength_is_the_interval_end_nearest_to_no_difference():
    assert strength(math.log(2), math.log(8), 0) == pytest.approx(math.log(2))
    assert strength(-math.log(8), -math.log(2), 0) == pytest.approx(math.log(2))
    assert strength(-0.1, 3, 0) == 0
    assert strength(1e8, 2e8, 0, floor=1e7, as_ratio=False) == pytest.approx(math.log(10))


def test_threshold_is_a_share_or_an_amount():
    assert threshold_of("grown_anon_bytes") == Threshold(least=8e6, floor=8e6)
    assert threshold_of("tokens_per_cpu_s") == Threshold()
    with_least = Threshold(share=0.05, least=8)
    assert with_least.covers(math.log(1.2), math.log(20), True), "4 of 20 are fewer than 8"
    assert not with_least.covers(math.log(1.2), math.log(200), True)
    assert not Threshold().covers(1e9, 1.0, True)


@pytest.mark.slow
@pytest.mark.parametrize("spread", simulated.SPREADS)
@pytest.mark.parametrize(("n", "m", "alike"), [(2, 2, True), (2, 3, False)])
def test_intervals_cover_the_truth_at_their_stated_rate(spread, n, m, alike):
    """30 cells; docs/method.md has the full table, with more reports and fewer cells."""
    covered_share, alarm_share = simulated.coverage(spread, n, m, 30, 120, np.random.default_rng(1), alike=alike)
    assert 0.93 <= covered_share <= 0.975
    assert alarm_share <= 0.1


@pytest.mark.slow
@pytest.mark.parametrize("blocked", [True, False])
def test_at_most_one_in_twenty_null_reports_confirms_a_difference(blocked):
    alarm_shares = [simulated.false_alarms(n, 60, np.random.default_rng(n), blocked=blocked) for n in simulated.sizes()]
    assert np.mean(alarm_shares) <= 0.05


@pytest.mark.slow
def test_planted_growth_by_half_is_found():
    shares = simulated.detected_shares(simulated.sizes()[-1], 0.5, 80, np.random.default_rng(1), blocked=True)
    assert shares["peak_grown_anon_bytes"] > 0.8


def test_noise_without_scatter_is_unknown():
    noise = Noise(np.zeros(5), np.ones(5))
    assert not noise.pooled
    assert math.isnan(noise.p(np.ones(1), np.zeros(1), np.ones(1), np.full(1, 2.0))[0])


def test_the_interval_of_a_geometric_mean_covers_other_sessions():
    rng = np.random.default_rng(1)
    between, within, covered = 0.1, 0.02, 0
    spread = Spread(mean_sd_log=between)
    for _ in range(500):
        first, second = (np.exp(rng.normal(0, between) + rng.normal(0, within, 2)) for _ in range(2))
        interval = geometric(first.tolist(), spread)
        covered += interval.low <= geometric(second.tolist()).mean <= interval.high
    # The second mean has the spread of a session too: 95 % intervals then hold it in 83 %.
    assert 0.78 < covered / 500 < 0.9


def test_geometric_mean_interval_is_students_on_logarithms():
    estimate = geometric([1.0, 2.0, 4.0])
    assert estimate.mean == pytest.approx(2)
    assert estimate.low * estimate.high == pytest.approx(4)
    assert estimate.low == pytest.approx(0.357, abs=0.001)  # exp(ln 2 - 4.3027 * ln 2 / sqrt 3)
    with pytest.raises(ValueError, match="above 0"):
        geometric([1.0, 0.0])


@pytest.mark.parametrize("lines", range(3, 40, 9))
def test_no_p_is_above_one(lines):
    """Rounding may push the sum of weights above 1, and the false discovery rate refuses a p above 1."""
    rng = np.random.default_rng(lines)
    variance, one = rng.chisquare(2, lines), np.ones(lines)
    assert (Noise(variance, one).p(0 * one, variance, one, 2 * one) <= 1).all()
