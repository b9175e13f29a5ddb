"""Findings from table `comparisons`: only what the data shows."""

import pandas as pd
import pytest

from beyond_ram.analysis.comparisons import comparisons
from beyond_ram.analysis.findings import compared, findings
from beyond_ram.analysis.stack_differences import stack_differences

from ..by_hand import MB

PAIRS = [("old", "new")]


def runs(stack, sizes_mb, **cell):
    shared = {"experiment": "e", "stack": stack, "workload": "tokenize", "cache": "cold", "remedy": "none"} | cell
    done = {"outcome": "completed", "completed_work": True}
    return [
        shared | done | {"rep": rep, "grown_anon_bytes": size * MB, "peak_grown_anon_bytes": 2 * size * MB}
        for rep, size in enumerate(sizes_mb, 1)
    ]


def nearly(value):
    return [value * (1 + rep / 1000) for rep in (1, 2, 3)]


def findings_of(*lines, locks=None):
    tables = {"comparisons": comparisons(pd.DataFrame([line for group in lines for line in group]), PAIRS)}
    if locks:
        tables["stack_differences"] = stack_differences(PAIRS, locks)
    return findings(tables)


def differences(*lines):
    return [finding for finding in findings_of(*lines) if finding.kind == "difference"]


OLD = runs("old", [100, 101, 100.5])
NOISE = [100, 220, 150]
GROWTH, PEAK, SPEED = "grown_anon_bytes", "peak_grown_anon_bytes", "tokens_per_cpu_s"


def test_difference_is_one_finding_with_all_metrics_and_counts():
    elsewhere = [runs(stack, [50, 50.5, 50.2], num_files=9) for stack in ("old", "new")]
    (finding,) = findings_of(
        [line | {"num_files": 4} for line in OLD], runs("new", [300, 302, 301], num_files=4), *elsewhere
    )
    assert (finding.kind, finding.subject, finding.baseline) == ("difference", "new", "old")
    assert {effect.metric for effect in finding.effects} == {GROWTH, PEAK}
    assert finding.effects[0].ratio == pytest.approx(3, rel=0.01)
    assert finding.effects[0].low < 3 < finding.effects[0].high
    assert finding.effects[0].n == 3
    assert (finding.scope.confirmed, finding.scope.compared) == (1, 2)
    assert finding.scope.conditions == ("4 files",), "only one setting is confirmed"
    assert finding.strength > 2


@pytest.mark.parametrize("faster", [0, 1])
def test_unset_value_is_called_the_default(faster):
    lines = [
        [
            line | {"rows_per_cpu_s": rate * (1 + (threads == faster))}
            for line, rate in zip(OLD, (50, 51, 50), strict=True)
        ]
        for threads in (0, 1)
    ]
    loads = [
        [line | {"workload": "load", "torch_threads": threads} for line in group] for threads, group in enumerate(lines)
    ]
    (finding,) = differences(*loads)
    sides = ("1 PyTorch thread", "default PyTorch threads")
    assert (finding.subject, finding.baseline) == sides


@pytest.mark.parametrize("new", [[100.2, 100.9, 100.6], [300], [30, 300, 120]], ids=["absent", "one run", "wild"])
def test_without_a_confirmed_difference_there_is_no_finding(new):
    assert findings_of(OLD[: len(new)], runs("new", new)) == []


@pytest.mark.parametrize(("cold", "metric"), [(2, "rows_per_cpu_s"), (1, "rows_per_cpu_s_warm")])
def test_first_epoch_leads_if_confirmed_else_later_epochs(cold, metric):
    lines = [
        line | {"rows_per_cpu_s": nearly(first)[line["rep"] - 1], "rows_per_cpu_s_warm": nearly(warm)[line["rep"] - 1]}
        for stack, first, warm in (("old", 1e5, 1e5), ("new", cold * 1e5, 1e6))
        for line in runs(stack, [100] * 3, workload="load")
    ]
    (finding,) = differences(lines)
    assert finding.effects[0].metric == metric


LOCKS = {"old": "a==1\nb==1\nc==1\nd==1\ne==1\n", "new": "a==1\nb==2\nc==2\nd==2\ne==2\n", "new.in": "e\n"}


def test_differing_packages_are_named_requested_ones_first():
    new = [300.0, 302.0, 301.0]
    (finding,) = findings_of(OLD, runs("new", new), locks=LOCKS)
    assert [str(one).split()[0] for one in finding.facts["packages"]] == ["e", "b", "c", "d"]
    (alike,) = findings_of(OLD, runs("new", new), locks=LOCKS | {"new": LOCKS["old"]})
    assert alike.facts["packages"] == []


def rates(old, new, **cell):
    """A candidate with a third of the memory, and these tokens per CPU-second."""
    sizes = {"old": [300, 301, 299.5], "new": [100, 101, 100.5]}
    return [
        [line | {SPEED: rate} for line, rate in zip(runs(stack, sizes[stack], **cell), values, strict=True)]
        for stack, values in (("old", old), ("new", new))
    ]


def test_slowdown_of_a_better_version_is_given_in_percent():
    """REVIEW.md 3.3: no page named a slowdown of 25 and 30 % in two sessions."""
    (finding,) = differences(*rates([100, 104, 101], [74, 94, 66]))
    assert finding.effects[0].metric == GROWTH
    (slower,) = finding.facts["undecided"]
    assert slower.ratio < 0.85
    assert f"ratio {slower.ratio:.3g} (95 % " in finding.text


def test_metric_that_is_better_and_worse_is_named_with_its_cells():
    """REVIEW.md 3.7: "better in held memory … worse in held memory", without the other cell."""
    few = [line | {"num_files": 4} for group in rates([100, 101, 102], [100, 101, 102]) for line in group]
    many = [line | {"num_files": 9} for line in (*runs("new", [300, 301, 300]), *runs("old", [100, 101, 100.5]))]
    (finding,) = differences(few, many)
    of_growth = {effect.result: effect.conditions for effect in finding.effects if effect.metric == GROWTH}
    assert of_growth == {"better": ("4 files",), "worse": ("9 files",)}
    assert "4 files" in finding.text and "9 files" in finding.text


def test_effect_names_the_experiment_that_got_worse():
    """A reader attributed a slowdown in another experiment to the setting that was better in memory."""
    here = [line | {SPEED: None} for group in rates([1, 1, 1], [1, 1, 1], experiment="leaner") for line in group]
    slow = [line for group in rates([100, 101, 102], [50, 51, 52], experiment="slower") for line in group]
    (finding,) = differences(here, [line | {GROWTH: 100 * MB, PEAK: 200 * MB} for line in slow])
    assert finding.scope.experiment == "leaner"
    assert "experiment slower" in finding.text.split("Tokens per CPU-second fell")[1]


def ended(outcomes):
    """Findings of runs of two loaders with these outcomes."""
    lines = [
        {"experiment": "e", "stack": "s", "workload": "load", "loader": loader, "rep": rep, "outcome": outcome,
         "limit_percent": 25, "completed_work": outcome == "completed"}
        for loader, group in outcomes.items()
        for rep, outcome in enumerate(group, 1)
    ]  # fmt: skip
    return list(compared.outcomes({"runs": pd.DataFrame(lines)}))


@pytest.mark.parametrize("outcome", ["timed_out", "killed_at_limit"])
def test_end_beside_a_completed_run_is_a_finding_with_its_counts(outcome):
    (finding,) = ended({"map": [outcome, outcome], "blocks": ["completed"] * 3})
    assert (finding.subject, finding.baseline, finding.scope.failed) == ("map", "blocks", 2)
    assert "2 of 2 runs" in finding.title and "3 of 3" in finding.title
    assert not finding.small
    (turned,) = ended({"map": ["completed"] * 3, "blocks": [outcome, outcome]})
    assert (turned.subject, turned.baseline) == ("blocks", "map")


def test_decided_comparison_of_failed_runs_is_the_only_finding():
    runs_of = {"experiment": "e", "stack": "s", "workload": "load", "loader": "a", "rep": 1, "outcome": "timed_out"}
    table = pd.DataFrame([runs_of | {"completed_work": False}, runs_of | {"loader": "b", "outcome": "completed"}])
    line = {"experiment": "e", "axis": "loader", "metric": "run_failed", "result": "worse"}
    assert len(list(compared.outcomes({"runs": table}))) == 1
    assert not list(compared.outcomes({"runs": table, "comparisons": pd.DataFrame([line])}))
    assert list(compared.outcomes({"runs": table, "comparisons": pd.DataFrame([line | {"axis": "stack"}])}))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["timed_out"], ["timed_out"]),
        (["timed_out", "completed"], ["completed"] * 2),
        (["not_applicable"], ["completed"]),
    ],
)
def test_outcomes_that_do_not_differ_or_not_always_are_none(one, other):
    assert not ended({"map": one, "blocks": other})
