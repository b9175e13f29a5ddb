"""What is found in table `streaming`, from made-up runs whose answer is known."""

from pathlib import Path

import matplotlib.pyplot as plt

from beyond_ram import making
from beyond_ram.analysis.findings import Finding
from beyond_ram.analysis.findings.streaming import SOURCES
from beyond_ram.analysis.streaming import streaming

from ..by_hand import Run, streamed


def found(*records: Run) -> dict[str, Finding]:
    tables = {"streaming": streaming(records)}
    return {finding.title: finding for source in SOURCES for finding in source(tables)}


def test_nothing_is_found_where_nothing_differs() -> None:
    asked = {"tree": {"main": 8}}
    assert not found(streamed("stream-4.3", asked), streamed("stream-current", asked))


def test_a_client_that_gives_up_is_named_with_its_error() -> None:
    record, events = streamed("s", {"tree": {"main": 1}}, outcome="failed")
    record["reason"] = "TypeError: crossed"
    told = found((record, events))
    assert list(told) == ["s gives up with 2 workers by fork"]
    assert "TypeError: crossed" in told["s gives up with 2 workers by fork"].text
    under_faults = streamed("s", {}, outcome="failed", fault="drop-every-2")
    assert list(found(under_faults)) == ["s gives up under 1 of 1 kinds of faults"]
    assert not found(streamed("s", {}, fault="drop-every-2"))


def test_whose_workers_ask_again() -> None:
    told = found(streamed("a", {"head": {"main": 120}}), streamed("b", {"tree": {"main": 2, "worker": 4}}))
    assert list(told) == ["b: workers ask for the list of files themselves (fork)"]
    assert "4 requests for it, 2 for each" in told["b: workers ask for the list of files themselves (fork)"].text


def drawn(root: Path, name: str, *records: Run) -> str:
    """The caption of a figure that was drawn."""
    found = making.figure(root / "scripts" / "figures" / f"{name}.py", {"streaming": streaming(records)})
    assert not isinstance(found, str), found
    plt.close(found[0])
    return " ".join(found[1].split())


def test_a_config_that_does_not_stream_has_no_findings() -> None:
    assert not [finding for source in SOURCES for finding in source({"streaming": streaming([])})]
