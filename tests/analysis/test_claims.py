"""Published claims beside the measured factors, from hand-made runs."""

import pytest

from beyond_ram.analysis.claims import claims
from beyond_ram.analysis.comparisons import comparisons
from beyond_ram.analysis.runs import runs

from .by_hand import streamed

DATASETS = {"stream-june-2023": "2.13.1", "stream-3.6": "3.6.0", "stream-4.3": "4.3.0", "stream-current": "5.2.0"}


def lines_of(*records):
    """The lines of each metric, with every stack compared with every other one."""
    pairs = [(one, other) for one in DATASETS for other in DATASETS if one != other]
    lines = {}
    for line in claims(comparisons(runs(records), pairs), DATASETS):
        lines.setdefault(line["metric"], []).append(line)
    return lines


def test_claim_stands_beside_the_measured_factor():
    slow = [streamed("stream-3.6", {"tree": {"main": 440}}, rep, resolved_s=10 + rep / 10) for rep in (1, 2, 3)]
    fast = [streamed("stream-current", {"tree": {"main": 4}}, rep, resolved_s=0.5 + rep / 100) for rep in (1, 2, 3)]
    lines = lines_of(*slow, *fast)
    (fewer,), (faster,) = lines["requests_metadata"], lines["resolution_s"]
    assert (fewer["claimed"], fewer["measured"]) == (100, pytest.approx(110))
    assert (faster["claimed"], faster["before"], faster["n"]) == (10, "stream-3.6", 3)
    assert faster["measured"] == pytest.approx(19.6, rel=0.01)
    assert faster["low"] < faster["measured"] < faster["high"]


def test_only_stacks_on_both_sides_of_the_post_are_compared():
    once = [streamed(stack, {"tree": {"main": 9}}) for stack in DATASETS]
    lines = lines_of(*once)["requests_metadata"]
    assert {(line["before"], line["after"]) for line in lines} == {
        (one, other) for one in ("stream-june-2023", "stream-3.6") for other in ("stream-4.3", "stream-current")
    }
