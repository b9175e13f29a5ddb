"""What is found in table `streaming`, from made-up runs whose answer is known."""

import pytest

from beyond_ram.analysis.findings import Finding
from beyond_ram.analysis.findings.streaming import SOURCES
from beyond_ram.analysis.streaming import streaming

from ..by_hand import Run, streamed


def found(*records: Run) -> dict[str, Finding]:
    tables = {"streaming": streaming(records)}
    return {finding.title: finding for source in SOURCES for finding in source(tables)}


def failed(stack: str, reason: str, rep: int = 1, **cell: str) -> Run:
    record, events = streamed(stack, {"tree": {"main": 1}}, rep, outcome="failed", **cell)
    return record | {"reason": reason}, events


def test_nothing_is_found_where_nothing_is_amiss() -> None:
    asked = {"tree": {"main": 8}}
    assert not found(streamed("stream-4.3", asked), streamed("stream-current", asked))


def test_a_client_that_gives_up_is_named_with_its_error_and_how_often() -> None:
    told = found(failed("s", "TypeError: crossed"))
    (title,) = told
    assert title == "s gives up with 2 workers by fork in 1 of 1 run"
    assert "TypeError: crossed" in told[title].text
    often = found(*(failed("s", "TypeError: crossed", rep) for rep in (1, 2, 3)))
    assert max(f.strength for f in often.values()) >= told[title].strength


def test_which_faults_end_a_stream_is_said_with_how_often() -> None:
    (told,) = found(
        failed("s", "NotImplementedError: x", fault="drop-every-2"), streamed("s", {}, fault="slow-every-2")
    ).values()
    assert told.title == "s gives up under 1 of 2 kinds of faults"
    assert "drop-every-2: 1 of 1 run, NotImplementedError: x. Gets through: slow-every-2 (n = 1)." in told.text
    assert not found(streamed("s", {}, fault="drop-every-2"))


def test_requests_of_workers_are_counted_and_no_cause_is_given() -> None:
    (told,) = found(streamed("a", {"head": {"main": 120}}), streamed("b", {"tree": {"main": 2, "worker": 4}})).values()
    assert told.title == "b: 2 workers by fork make 4 requests for the list of files"
    assert "6 requests beside reads of data in all, 4 of them by workers" in told.text
    assert "n = 1; no other was run here" in told.text
    assert told.strength == 1, "one run"


def test_one_request_of_eight_workers_is_not_said_of_each() -> None:
    (told,) = found(*(streamed("b", {"tree": {"main": 2, "worker": 1}}, rep, workers=8) for rep in (1, 2))).values()
    assert "make 1 request for" in told.title
    assert "0.12 for each worker at least" in told.text


def test_where_no_workers_were_asked_for_nothing_is_said_of_them() -> None:
    assert not found(*(streamed("b", {"tree": {"main": 2, "worker": 4}}, rep, workers=0) for rep in (1, 2)))


@pytest.mark.parametrize("counts", [(0, 0), (4, 0), (0, 30, 4)])
def test_workers_that_do_not_always_ask_are_no_finding(counts: tuple[int, ...]) -> None:
    assert not found(*(streamed("b", {"tree": {"main": 2, "worker": n}}, rep) for rep, n in enumerate(counts, 1)))


def test_what_a_count_is_in_all_repeats_decides_how_strong_it_is() -> None:
    (told,) = found(
        *(streamed("b", {"tree": {"main": 4, "worker": n}}, rep) for rep, n in enumerate((4, 12), 1))
    ).values()
    assert "make 4 to 12 requests" in told.title
    assert told.strength == pytest.approx(16 / 12), "4 more than the 12 that there may be without them"


def test_a_config_that_does_not_stream_has_no_findings() -> None:
    assert not [finding for source in SOURCES for finding in source({"streaming": streaming([])})]
