"""Findings from table `spark`, from hand-made runs."""

from beyond_ram.analysis.findings.hub import SOURCES, _spark
from beyond_ram.analysis.spark import spark

from ..by_hand import sparked


def test_no_runs_are_no_findings() -> None:
    nothing = {"spark": spark([])}
    assert not [finding for source in SOURCES for finding in source(nothing)]


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
