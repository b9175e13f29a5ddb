"""Findings from table `spark`, and on blocks from `comparisons`, from hand-made runs."""

from typing import Any

import pytest

from beyond_ram.analysis.comparisons import comparisons
from beyond_ram.analysis.findings import Finding
from beyond_ram.analysis.findings.compared import _differences
from beyond_ram.analysis.findings.hub import SOURCES, _spark
from beyond_ram.analysis.runs import runs
from beyond_ram.analysis.spark import spark

from ..by_hand import Run, sampled, sparked


def test_no_runs_are_no_findings() -> None:
    nothing = {"spark": spark([])}
    assert not [finding for source in SOURCES for finding in source(nothing)]


def block_findings(*repeats: tuple[int, int]) -> list[Finding]:
    """Findings on small blocks against the library's own; each repeat has the bytes of both."""
    requests = {"data": {"main": 8}, "tree": {"main": 2}}
    records: list[Run] = []
    for rep, sizes in enumerate(repeats, 1):
        for block, size in zip((64, 5120), sizes, strict=True):
            record, events = sampled(block, requests, size * 1_000_000)
            fields: dict[str, Any] = {"workload": "hub-files", "completed_work": True, "duration_s": 1.0, "cpu_s": 1.0}
            fields |= {"provenance": {"versions": {}, "allocator_settings": {}}, "sampler": {}, "exit_status": 0}
            record |= fields | {"signal": None, "cell": record["cell"] | {"rep": rep}}
            records.append((record, events))
    return list(_differences({"comparisons": comparisons(runs(records), [])}))


@pytest.mark.slow
def test_blocks_are_compared_with_the_librarys_own() -> None:
    (finding,) = block_findings((100, 1000), (100, 1000))
    assert (finding.subject, finding.baseline) == ("blocks 64 KiB", "blocks 5,120 KiB")
    assert finding.effects[0].ratio == pytest.approx(0.1)
    assert finding.figure == "hub_files"
    assert block_findings((100, 800)) == [], "n = 1"
    assert block_findings((800, 800), (800, 800)) == [], "no effect"
    assert block_findings((800, 100), (800, 100))[0].effects[0].ratio == pytest.approx(8), "the other way round"
    assert block_findings((100, 900), (800, 90), (300, 200)) == [], "wild noise"


def test_failing_steps_are_named_with_their_counts() -> None:
    (finding,) = _spark({"spark": spark(sparked())})
    assert (finding.facts["broken"], finding.facts["works"]) == ({"write": (1, 1)}, {"read": 1})
    assert finding.facts["reasons"] == ("TypeError: x",)
    (record, steps), _ = sparked()
    again = ({**record, "cell": record["cell"] | {"rep": 2}}, [step | {"works": True, "reason": ""} for step in steps])
    (half,) = _spark({"spark": spark([(record, steps), again])})
    assert half.facts["broken"] == {"write": (1, 2)}
    assert half.strength < finding.strength
    cut = ({**record, "cell": record["cell"] | {"rep": 2}, "outcome": "failed", "completed_work": False}, steps)
    (one,) = _spark({"spark": spark([(record, steps), cut])})
    assert one.facts == finding.facts, "steps of a failed run do not count"
    assert one.scope.failed == 1
    assert not list(_spark({"spark": spark([again])}))
