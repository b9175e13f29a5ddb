"""Metrics of a run, from hand-made marks and peaks."""

import pytest

from beyond_ram.metrics import METRICS, derive

from ..analysis.by_hand import events, record, tree


def test_metrics_are_derived_from_marks_and_peaks():
    derived = derive(record(), events(end_anon=640))
    assert set(derived) == set(METRICS)
    assert derived["end_anon_bytes"] == 640
    assert derived["grown_anon_bytes"] == 540
    assert derived["tokens_per_cpu_s"] == 200


def test_rate_is_of_new_text_alone():
    def mark(name, cpu_s, **more):
        return {"event": name, "tree": tree(1) | {"cpu_s": cpu_s}, **more}

    begin, end = [mark("baseline", 2.0), mark("phase", 3.0, phase="map 0")], mark("work", 6.0)
    assert derive(record(), [*begin, end])["tokens_per_cpu_s"] == 300 / 3, "imports and reading count"
    assert derive(record(), [begin[0], end])["tokens_per_cpu_s"] == 300 / 4
    cached = mark("shard", 4.0, from_cache=True, cache_bytes_written=0)
    assert derive(record(), [*begin, cached, end])["tokens_per_cpu_s"] is None
    epochs = [mark("phase", 1.0, phase="epoch 0"), mark("epoch", 5.0), mark("epoch", 5.5), mark("epoch", 6.0)]
    assert derive(record(), [*epochs, end])["tokens_per_cpu_s"] == 100 / 4, "later epochs may come from a cache"


def test_growth_is_since_the_imports_as_in_the_teardown():
    loaded = [{"event": "imported", "tree": tree(88)}, {"event": "baseline", "tree": tree(92)}]
    derived = derive(record(), [*loaded, {"event": "work", "tree": tree(734)}])
    assert derived["grown_anon_bytes"] == 734 - 88


def test_unmeasured_values_are_none_not_zero():
    derived = derive(record(work={}), [{"t_s": 0, "event": "start"}])
    assert derived["end_anon_bytes"] is None
    assert derived["grown_anon_bytes"] is None
    assert derived["tokens_per_cpu_s"] is None


def test_growth_counts_a_page_of_several_processes_once():
    start = [{"event": "imported", "tree": tree(88)}]
    forked = tree(4 * 734) | {"processes": 4}
    derived = derive(record(), [*start, {"event": "work", "tree": forked | {"pss_anon_bytes": 740}}])
    assert derived["grown_anon_bytes"] == 740 - 88
    assert derive(record(), [*start, {"event": "work", "tree": forked}])["grown_anon_bytes"] is None


@pytest.mark.parametrize("unknown", ["pss_anon_bytes", "pss_shmem_bytes"])
@pytest.mark.parametrize("at", ["after the first batch", "delivered"])
def test_kept_memory_of_a_loader_is_unknown_where_a_reading_is(at, unknown):
    known = {"pss_bytes": 9, "pss_anon_bytes": 5, "pss_shmem_bytes": 1, "shmem_bytes": 4}
    both = {
        name: {"event": "phase", "phase": name, "tree": tree(5) | known}
        for name in ("after the first batch", "delivered")
    }
    assert derive(record(), list(both.values()))["held_bytes"] == 6
    del both[at]["tree"][unknown]
    assert derive(record(), list(both.values()))["held_bytes"] is None


def _peak(metric, **peak):
    return derive(record(peak={"anon_bytes": 447, **peak}), [])[metric]


def test_a_child_that_was_just_forked_is_not_counted_twice():
    kept = {"basis": "group", "whole": True, "kept_bytes": 340, "at_kept": {"anon_bytes": 302, "kernel_bytes": 8}}
    assert _peak("peak_anon_once_bytes", processes=2, kept=kept) == 332
    assert _peak("peak_kept_bytes", processes=2, kept=kept) == 340
    assert _peak("peak_kept_bytes", processes=2, kept=kept | {"whole": False}) is None
    assert _peak("peak_anon_once_bytes", processes=2, kept=kept | {"basis": "tree"}) == 302
    assert _peak("peak_anon_once_bytes", processes=2, kept=None) is None
    assert _peak("peak_kept_bytes", processes=2, kept=None) is None


def test_a_peak_is_unknown_where_no_sample_saw_a_part_that_may_be_anonymous():
    kept = {"basis": "tree", "whole": True, "kept_bytes": 460, "at_kept": {"anon_bytes": 447}}
    files = {"anon_upper_bound_bytes": 600, "unseen_bytes": 150}  # 150 bytes between samples: of files, or anonymous
    few = {"anon_upper_bound_bytes": 450, "unseen_bytes": 150}
    for metric, size in (("peak_anon_once_bytes", 447), ("peak_kept_bytes", 460)):
        assert _peak(metric, processes=1, kept=kept, **files) is None
        assert _peak(metric, processes=1, kept=kept, **few) == size
        assert _peak(metric, processes=1, kept=kept | {"basis": "group"}, **files) == 460


def test_run_that_was_started_again_has_only_its_failure():
    once, again = (derive(record(attempts=[{}] * starts), events(end_anon=640)) for starts in (1, 2))
    assert once["grown_anon_bytes"] == 540
    assert {name: value for name, value in again.items() if value is not None} == {"run_failed": 0}


@pytest.mark.parametrize(
    ("outcome", "failed"),
    [("completed", 0), ("failed", 1), ("killed_at_limit", 1), ("timed_out", 1), ("not_applicable", None)],
)
def test_run_that_did_its_work_and_failed_afterwards_failed(outcome, failed):
    assert derive(record() | {"completed_work": True, "outcome": outcome}, events(end_anon=640))["run_failed"] == failed
