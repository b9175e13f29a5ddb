"""Table `streaming`, and when a copy on disk pays, from hand-made runs."""

import pandas as pd
import pytest

from beyond_ram.analysis.streaming import streaming

from .by_hand import streamed


def test_one_line_per_cell_with_counts_and_rows():
    requests = {"tree": {"main": 2, "worker": 4}, "data": {"worker": 10}}
    line = streaming([streamed("s", requests, 1), streamed("s", requests, 2, resolved_s=0.7)]).iloc[0]
    assert line["n"] == 2
    assert (line["requests"], line["requests_metadata"], line["requests_data"]) == (16, 6, 10)
    assert (line["requests_tree_main"], line["requests_tree_worker"], line["requests_info_main"]) == (2, 4, 0)
    assert line["requests_listing_of_workers"] == 4
    assert line["counts_identical"]
    assert (line["resolution_s_min"], line["resolution_s_max"]) == (0.5, 0.7)
    assert line["rows_per_s"] == pytest.approx(64 / 2.0)
    assert (line["worker_anon_bytes"], line["worker_grown_anon_bytes"]) == (400, 300)
    assert line["rows_per_worker"] == '{"0": 40, "1": 24}'


def test_counts_that_differ_between_repeats_are_flagged():
    line = streaming([streamed("s", {"tree": {"main": 2}}, 1), streamed("s", {"tree": {"main": 3}}, 2)]).iloc[0]
    assert not line["counts_identical"]
    assert (line["requests_min"], line["requests_max"]) == (2, 3)


def test_client_that_gave_up_before_its_first_row_has_a_line():
    record, events = streamed("s", {"info": {"main": 1}}, outcome="failed")
    record["work"]["rows_per_worker"] = {}
    line = streaming([(record, events)]).iloc[0]
    assert (line["outcome"], line["n"], line["requests"]) == ("failed", 0, 1)


def test_failed_repeat_is_not_averaged_and_fails_the_cell():
    lost = streamed("s", {"tree": {"main": 900}}, 3, outcome="failed", resolved_s=99)
    lost[0]["reason"] = "TypeError: crossed"
    line = streaming([streamed("s", {"tree": {"main": 2}}, 1), streamed("s", {"tree": {"main": 2}}, 2), lost]).iloc[0]
    assert (line["n"], line["outcome"], line["reason"]) == (2, "failed", "TypeError: crossed")
    assert (line["requests"], line["requests_max"], line["resolution_s_max"]) == (2, 2, 0.5)
    assert line["counts_identical"]


def test_wrong_rows_of_one_repeat_count_for_the_cell():
    repeats = [streamed("s", None, rep) for rep in (1, 2, 3)]
    repeats[1][0]["work"] |= {"rows_wrong": 5, "rows_delivered": 60}
    line = streaming(repeats).iloc[0]
    assert (line["rows_wrong"], line["rows_twice"], line["rows_delivered"]) == (5, 0, 64)


def test_uncounted_values_are_empty_not_zero():
    line = streaming([streamed("s", None)]).iloc[0]
    assert pd.isna(line["requests"])
    assert pd.isna(line["requests_tree_main"])
    assert line["rows_delivered"] == 64
