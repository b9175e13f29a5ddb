"""Table `growth` from runs with known slopes, and the fit that is drawn."""

import numpy as np
import pytest

from beyond_ram.analysis.growth import fitted, growth
from beyond_ram.analysis.runs import runs

from .by_hand import events, record


def test_growth_finds_a_known_slope_and_its_interval_covers_it() -> None:
    rng = np.random.default_rng(1)
    sizes = [50e6, 100e6, 150e6] * 3
    noisy = [(record(bytes_in=s, rep=i), events(200e6 + 24 * s + rng.normal(0, 20e6))) for i, s in enumerate(sizes)]
    line = growth(runs(noisy)).iloc[0]
    assert line["n"] == 9
    assert line["anon_slope_mb_per_gb_low"] < 24_000 < line["anon_slope_mb_per_gb_high"]
    assert line["anon_slope_mb_per_gb"] == pytest.approx(24_000, rel=0.03)
    assert line["file_slope_mb_per_gb"] == pytest.approx(0, abs=1e-6)


def test_growth_of_two_runs_has_no_interval_and_of_one_size_no_line() -> None:
    two = growth(runs([(record(bytes_in=s), events(24 * s)) for s in (1e8, 2e8)]))
    assert two["n"].item() == 2
    assert np.isnan(two["anon_slope_mb_per_gb_low"].item())
    one = growth(runs([(record(bytes_in=1e8, rep=i), events(1e9)) for i in (1, 2)]))
    assert one.empty
    assert {"experiment", "stack", "anon_slope_mb_per_gb"} <= set(one.columns)


def test_the_band_of_a_fit_is_narrowest_at_the_mean_of_its_runs() -> None:
    table = runs([(record(bytes_in=s), events(200e6 + 24 * s + off)) for s, off in ((1e8, 0), (2e8, 1e6), (3e8, 0))])
    fit = fitted(table, growth(table).iloc[0], "anon")
    assert len(fit.runs) == 3
    assert fit.half_mb is not None
    assert fit.input_gb[fit.half_mb.argmin()] == pytest.approx(0.2, abs=0.005)
    assert fit.fitted_mb.mean() == pytest.approx(fit.runs["end_anon_bytes"].mean() / 1e6)
    two = table[table["bytes_in"] < 3e8]
    assert fitted(two, growth(two).iloc[0], "anon").half_mb is None


def test_a_failed_run_is_no_point_of_a_slope() -> None:
    points = [(record(bytes_in=s), events(24 * s)) for s in (1e8, 2e8, 3e8)]
    broken = (record(bytes_in=4e8, outcome="failed", completed_work=False), events(0))
    assert growth(runs([*points, broken]))["n"].item() == 3
