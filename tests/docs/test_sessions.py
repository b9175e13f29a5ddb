"""Spread of metrics between sessions: its estimate, and intervals that cover a second session."""

import math
import runpy

import numpy as np
import pandas as pd
import pytest

from beyond_ram.analysis.comparisons import comparisons
from beyond_ram.analysis.decide import Question, SideValues, decide
from beyond_ram.analysis.noise import Spread
from beyond_ram.report.sections import sessions

from ..conftest import ROOT

measured = runpy.run_path(str(ROOT / "docs" / "sessions.py"))["measured"]
PAIRS = [("old", "new")]
DAY_S = 86_400.0
CELLS = 6


def session(rng, sd, number=0, n=3, **line):
    """Both stacks over some cells: the session moves each contrast by `sd`, and all cells together by 0.3."""
    lines = []
    shared = rng.normal(0, 0.3)
    for cell in range(CELLS):
        apart = rng.normal(0, sd)
        for stack, of_side in (("old", 0.0), ("new", apart)):
            for rep in range(1, n + 1):
                noise = shared + of_side + rng.normal(0, 0.01)
                lines.append(
                    {"experiment": "e", "stack": stack, "workload": "tokenize", "num_files": cell, "rep": rep}
                    | {"completed_work": True, "outcome": "completed", "reason": "", "duration_s": 1.0}
                    | {"started_at": DAY_S * number + 100.0 * rep, "tokens_per_cpu_s": 1e6 * math.exp(noise)}
                    | line
                )
    return pd.DataFrame(lines)


@pytest.mark.slow
def test_spread_of_contrasts_and_means_is_recovered():
    rng = np.random.default_rng(3)
    (line,) = measured([session(rng, 0.1, number) for number in range(8)], PAIRS).to_dict("records")
    assert line["metric"] == "tokens_per_cpu_s"
    assert line["sessions"] == 8
    assert line["contrast_sd_log"] == pytest.approx(0.1, rel=0.35)
    assert line["mean_sd_log"] == pytest.approx(0.3, rel=0.5)
    assert 5 < line["contrast_degrees"] <= 7 * CELLS
    (same,) = measured([session(rng, 0.0, number) for number in range(8)], PAIRS).to_dict("records")
    assert same["contrast_sd_log"] < 0.01, "scatter within a session does not count"
    assert measured([session(rng, 0.1)], PAIRS).empty, "one session has no spread"


def test_the_duration_of_a_script_is_a_metric_too():
    rng = np.random.default_rng(4)
    sessions = [
        session(rng, 0.0, number, workload="script", script="s", duration_s=math.exp(rng.normal(0, 0.2)))
        for number in range(8)
    ]
    table = measured(sessions, PAIRS).set_index("metric")
    assert table.loc["duration_s", "mean_sd_log"] == pytest.approx(0.2, rel=0.5)


def covered(sd, spread, sessions=12):
    """The share of one session's intervals that cover the ratio over all sessions, 1."""
    rng = np.random.default_rng(5)
    covering = []
    for number in range(sessions):
        table = comparisons(session(rng, sd, number), PAIRS, [], spread)
        covering += [line["low"] <= 1 <= line["high"] for line in table.to_dict("records")]
    return float(np.mean(covering))


@pytest.mark.slow
def test_intervals_cover_other_sessions_once_the_spread_is_known():
    rng = np.random.default_rng(4)
    learned = measured([session(rng, 0.1, number) for number in range(8)], PAIRS)
    assert covered(0.1, None) < 0.4, "repeats of one session do not show the spread between sessions"
    assert covered(0.1, learned) > 0.9


def sides(gap_s):
    first = SideValues((1.00, 1.01, 1.02), (1, 2, 3), (0.0, 10.0, 20.0), (1.0, 11.0, 21.0))
    at = tuple(gap_s + 5.0 + 10 * i for i in range(3))
    return first, SideValues((1.2, 1.21, 1.22), (1, 2, 3), at, tuple(one + 1 for one in at))


def test_sides_of_two_sessions_have_the_spread_of_two_means():
    spread = Spread(0.01, 10, 0.2, 10)
    same, apart = (decide([Question(*sides(gap), "rows_per_s", spread=spread)])[0] for gap in (0.0, DAY_S))
    assert same.low > 1.1
    assert apart.low < 0.8
    assert apart.detectable > math.exp(2 * 0.2 * math.sqrt(2))


def test_a_difference_of_small_values_has_the_spread_of_its_level():
    sides_of = (SideValues((3e6, 3.1e6)), SideValues((2e6, 2.1e6)))
    plain, wider = (
        decide([Question(*sides_of, "held_bytes", spread=one)])[0] for one in (Spread(), Spread(0.5, 50, 0.5, 50))
    )
    assert wider.high - wider.low > plain.high - plain.low
    assert wider.high - wider.low > 3e6


def shipped():
    return pd.read_csv(ROOT / "beyond_ram/analysis/session_spread.csv")


def test_report_names_the_metrics_with_a_spread_and_without():
    lines = pd.DataFrame({"metric": ["tokens_per_cpu_s", "requests_data", "rows_per_s"], "exact": [False, True, False]})
    words = sessions(shipped()[shipped()["metric"] != "rows_per_s"], lines)
    known, alone = words.split(". ")
    assert "Tokens per CPU-second" in known and "Rows per second" in alone
    assert "data" not in words, "an exact count has no noise"
    assert sessions(shipped(), None) == ""


def test_shipped_spread_has_only_decided_metrics():
    from beyond_ram.metrics import METRICS

    table = shipped()
    assert set(table["metric"]) <= {name for name, metric in METRICS.items() if metric.decided}
    assert (table[["contrast_sd_log", "mean_sd_log"]] >= 0).all(axis=None)
    assert (table[["contrast_degrees", "mean_degrees", "sessions"]] >= 1).all(axis=None)
