"""Table `hub_files`."""

from beyond_ram.analysis.hub_files import hub_files

from .by_hand import sampled


def test_one_line_per_run_with_the_cost_of_a_sample() -> None:
    requests = {"data": {"main": 8}, "tree": {"main": 2}}
    table = hub_files([sampled(64, requests, 1000), sampled(5120, requests, 8000)])
    assert table["requests"].tolist() == [10, 10]
    assert table["requests_data"].tolist() == [8, 8]
    assert table["requests_per_sample"].tolist() == [1, 1]
    assert table["bytes_per_sample"].tolist() == [100, 800]
    assert table["s_per_sample"].tolist() == [0.2, 0.2]


def test_uncounted_values_are_empty() -> None:
    uncounted = hub_files([sampled(64, None, None)])
    assert uncounted[["requests", "bytes_per_sample"]].isna().all(axis=None)
    assert uncounted["s_per_sample"].item() == 0.2
    assert hub_files([]).empty
