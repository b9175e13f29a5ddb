"""Findings from table `streaming`, from hand-made runs."""

import pytest

from beyond_ram.analysis.findings import Finding
from beyond_ram.analysis.findings.streaming import SOURCES
from beyond_ram.analysis.streaming import streaming

from ..by_hand import Run, streamed


def findings_of(*records: Run) -> list[Finding]:
    tables = {"streaming": streaming(records)}
    return [finding for source in SOURCES for finding in source(tables)]


def failed(stack: str, reason: str, rep: int = 1, **cell: str) -> Run:
    record, events = streamed(stack, {"tree": {"main": 1}}, rep, outcome="failed", **cell)
    return record | {"reason": reason}, events


def test_sound_streams_have_no_findings() -> None:
    requests = {"tree": {"main": 8}}
    assert not findings_of(streamed("stream-4.3", requests), streamed("stream-current", requests))


def test_client_that_gives_up_is_named_with_its_error_and_count() -> None:
    (once,) = findings_of(failed("s", "TypeError: crossed"))
    assert (once.kind, once.subject, once.scope.conditions) == ("gives up", "s", ("2 workers by fork",))
    assert (once.scope.failed, once.facts["runs"]) == (1, 1)
    assert "TypeError: crossed" in once.facts["reason"]
    often = findings_of(*(failed("s", "TypeError: crossed", rep) for rep in (1, 2, 3)))
    assert max(finding.strength for finding in often) >= once.strength


def test_faults_that_end_a_stream_are_named_with_their_counts() -> None:
    (finding,) = findings_of(
        failed("s", "NotImplementedError: x", fault="drop-every-2"), streamed("s", {}, fault="slow-every-2")
    )
    ((fault, failures, runs, reason),) = finding.facts["broken"]
    assert (fault, failures, runs) == ("drop-every-2", 1, 1)
    assert "NotImplementedError: x" in reason
    assert (finding.facts["passed"], finding.facts["kinds"]) == ([("slow-every-2", 1)], 2)
    assert not findings_of(streamed("s", {}, fault="drop-every-2"))


def test_requests_of_workers_are_counted_and_no_cause_is_given() -> None:
    (finding,) = findings_of(streamed("a", {"head": {"main": 120}}), streamed("b", {"tree": {"main": 2, "worker": 4}}))
    assert (finding.kind, finding.subject, finding.facts["requests"]) == ("listing", "b", (4, 4))
    assert (finding.facts["metadata"], finding.facts["n"], finding.strength) == (6, 1, 1)


def test_one_request_of_eight_workers_is_an_eighth_per_worker() -> None:
    (finding,) = findings_of(*(streamed("b", {"tree": {"main": 2, "worker": 1}}, rep, workers=8) for rep in (1, 2)))
    assert (finding.facts["requests"], finding.facts["per_worker"]) == ((1, 1), 1 / 8)


def test_run_without_workers_has_no_finding_on_workers() -> None:
    assert not findings_of(*(streamed("b", {"tree": {"main": 2, "worker": 4}}, rep, workers=0) for rep in (1, 2)))


@pytest.mark.parametrize("counts", [(0, 0), (4, 0), (0, 30, 4)])
def test_workers_without_requests_in_one_repeat_are_no_finding(counts: tuple[int, ...]) -> None:
    assert not findings_of(*(streamed("b", {"tree": {"main": 2, "worker": n}}, rep) for rep, n in enumerate(counts, 1)))


def test_strength_of_a_count_covers_all_repeats() -> None:
    (finding,) = findings_of(
        *(streamed("b", {"tree": {"main": 4, "worker": n}}, rep) for rep, n in enumerate((4, 12), 1))
    )
    assert finding.facts["requests"] == (4, 12)
    assert finding.strength == pytest.approx(16 / 12), "at least 4 on top of the 12 without workers"


def test_a_config_that_does_not_stream_has_no_findings() -> None:
    assert not [finding for source in SOURCES for finding in source({"streaming": streaming([])})]
