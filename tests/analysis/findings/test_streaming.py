"""What is found in table `streaming`, from made-up runs whose answer is known."""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from beyond_ram import making
from beyond_ram.analysis.findings import PAIRS, Finding
from beyond_ram.analysis.findings.streaming import SOURCES
from beyond_ram.analysis.streaming import streaming

from ..by_hand import Run, streamed


def found(*records: Run) -> dict[str, Finding]:
    pairs = pd.DataFrame([("stream-4.3", "stream-current")], columns=["baseline", "candidate"])
    tables: dict[str, pd.DataFrame] = {"streaming": streaming(records), PAIRS: pairs}
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


def test_who_asks_most_and_whose_workers_ask_again() -> None:
    told = found(streamed("a", {"head": {"main": 120}}), streamed("b", {"tree": {"main": 2, "worker": 4}}))
    assert "a asks 20.0 times as often as b (r, 2 workers by fork)" in told
    again = told["b: workers ask for the list of files themselves (fork)"]
    assert "4 requests for it, 2 for each" in again.text


def test_what_got_worse_needs_every_run_to_be_worse() -> None:
    few, many = {"tree": {"main": 4}}, {"tree": {"main": 9}}
    title = "Worse in stream-current than in stream-4.3: requests that are no reads of data (r, 2 workers by fork)"
    assert title in found(streamed("stream-4.3", few), streamed("stream-current", many))
    assert title not in found(streamed("stream-4.3", many), streamed("stream-current", few))
    slow = [streamed("stream-current", few, rep, resolved_s=2.0 + rep) for rep in (1, 2)]
    quick = [streamed("stream-4.3", few, rep, resolved_s=0.5) for rep in (1, 2)]
    assert any("time to the first batch" in title for title in found(*slow, *quick))
    mixed = [*quick, streamed("stream-4.3", few, 3, resolved_s=9.0)]
    assert not any("time to the first batch" in title for title in found(*slow, *mixed))


def drawn(root: Path, name: str, *records: Run) -> str:
    """The caption of a figure that was drawn."""
    found = making.figure(root / "scripts" / "figures" / f"{name}.py", {"streaming": streaming(records)})
    assert not isinstance(found, str), found
    plt.close(found[0])
    return " ".join(found[1].split())


def test_a_config_that_does_not_stream_has_no_findings() -> None:
    assert not [finding for source in SOURCES for finding in source({"streaming": streaming([])})]
