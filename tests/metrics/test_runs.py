"""Metrics of a run, from marks and peaks made by hand."""

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


def test_what_was_not_measured_is_missing_and_not_zero() -> None:
    derived = derive(record(work={}), [{"t_s": 0, "event": "start"}])
    assert derived["end_anon_bytes"] is None
    assert derived["grown_anon_bytes"] is None
    assert derived["tokens_per_cpu_s"] is None
