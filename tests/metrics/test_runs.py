"""Metrics of a run, from hand-made marks and peaks."""

from typing import Any

import pytest

from beyond_ram.metrics import METRICS, derive

from ..analysis.by_hand import events, record


def test_metrics_are_derived_from_marks_and_peaks() -> None:
    derived = derive(record(), events(end_anon=640))
    assert set(derived) == set(METRICS)
    assert derived["end_anon_bytes"] == 640
    assert derived["grown_anon_bytes"] == 540
    assert derived["hwm_gap"] == pytest.approx(-0.01)
    assert derived["tokens_per_cpu_s"] == 200
    assert derived["end_pss_bytes"] is None


def test_growth_is_since_the_imports_as_in_the_teardown() -> None:
    loaded = [{"event": "imported", "tree": {"anon_bytes": 88}}, {"event": "baseline", "tree": {"anon_bytes": 92}}]
    derived = derive(record(), [*loaded, {"event": "work", "tree": {"anon_bytes": 734}}])
    assert derived["grown_anon_bytes"] == 734 - 88
    assert derived["baseline_anon_bytes"] == 92


def test_unmeasured_values_are_none_not_zero() -> None:
    derived = derive(record(work={}), [{"t_s": 0, "event": "start"}])
    assert derived["end_anon_bytes"] is None
    assert derived["grown_anon_bytes"] is None
    assert derived["tokens_per_cpu_s"] is None


def test_a_child_that_was_just_forked_is_not_counted_twice() -> None:
    def once(**peak: Any) -> float | None:
        return derive(record(peak={"anon_bytes": 447, **peak}), [])["peak_anon_once_bytes"]

    kept = {"basis": "group", "at_kept": {"anon_bytes": 302}}
    assert once(processes=2, kept=kept) == 302
    assert once(processes=1, kept=kept) == 447  # the largest sample of one process is the peak
    assert once(processes=2, kept=None) is None
    assert once() is None  # an older run
