"""Findings from table `comparisons`: only what the data shows."""

import pandas as pd
import pytest

from beyond_ram.analysis.comparisons import comparisons
from beyond_ram.analysis.findings import compared, findings
from beyond_ram.analysis.stack_differences import stack_differences
from beyond_ram.metrics import METRICS
from beyond_ram.metrics.base import ANY

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
    assert finding.advice is not None
    assert (*finding.advice.choose, finding.advice.instead_of) == sides[:: 1 if faster else -1]


@pytest.mark.parametrize("new", [[100.2, 100.9, 100.6], [300], [30, 300, 120]], ids=["absent", "one run", "wild"])
def test_without_a_confirmed_difference_there_is_no_finding(new):
    assert findings_of(OLD[: len(new)], runs("new", new)) == []


@pytest.mark.parametrize(
    ("axis", "workload", "metric", "figure"),
    [
        ("stack", "stream", "requests_metadata", "requests_by_workers"),
        ("stack", "stream", "requests_data", ""),
        ("stack", "stream", GROWTH, ""),
        ("side", "script", "rows lost [rows, lower]", "reported"),
        ("side", "script", "requests", "reported"),
        ("side", "script", "peak_kept_bytes", ""),
    ],
)
def test_the_figure_of_a_difference_draws_its_metric(axis, workload, metric, figure):
    assert compared._figure(axis, {"workload": workload, "metric": metric}) == figure


@pytest.mark.parametrize(("cold", "metric"), [(2, "rows_per_cpu_s"), (1, "rows_per_cpu_s_warm")])
def test_first_epoch_leads_if_confirmed_else_later_epochs(cold, metric):
    lines = [
        line | {"rows_per_cpu_s": nearly(first)[line["rep"] - 1], "rows_per_cpu_s_warm": nearly(warm)[line["rep"] - 1]}
        for stack, first, warm in (("old", 1e5, 1e5), ("new", cold * 1e5, 1e6))
        for line in runs(stack, [100] * 3, workload="load")
    ]
    (finding,) = differences(lines)
    assert finding.effects[0].metric == metric


def test_every_decided_workload_has_a_figure_for_stacks():
    decided = {workload for metric in METRICS.values() for workload in metric.decided} - {ANY}
    assert decided - {"script", "soak"} <= set(compared._FIGURES), "these have tables alone"


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
    assert finding.advice is not None
    of_growth = {effect.result: effect.conditions for effect in finding.effects if effect.metric == GROWTH}
    assert of_growth == {"better": ("4 files",), "worse": ("9 files",)}
    better, worse = finding.action.split("worse in")
    assert "4 files" in better
    assert "9 files" in worse


def with_runs(lines):
    table = pd.DataFrame(lines)
    tables = {"comparisons": comparisons(table, PAIRS), "runs": table}
    return [finding for finding in findings(tables) if finding.kind == "difference"]


def test_advice_states_the_cpus_or_documents_of_the_measurement():
    """REVIEW.md 3.6: no workers, on 2 CPUs without work per row; batch size 1, where a batch is the whole input."""
    machine = {"cpu_count": 2, "rows": 4, "duration_s": 1.0}
    load = [
        line | {"held_bytes": line[GROWTH]}
        for workers, size in ((0, 200), (2, 800))
        for line in runs("new", nearly(size), workload="load", workers=workers, start="none", **machine)
    ]
    (workers,) = with_runs(load)
    assert "2 CPUs" in workers.action
    (batch,) = with_runs(
        [line for size in (1, 4) for line in runs("new", nearly(100 * size), batch_size=size, **machine)]
    )
    assert "4 documents" in batch.action


@pytest.mark.parametrize(("wall_s", "longer"), [((4.0, 5.2), True), ((4.0, 3.9), False)])
def test_advice_names_undecided_metrics_and_a_longer_wall_clock(wall_s, longer):
    """Advice without the wall clock hides that the smaller peak takes 30 % longer."""
    sides = rates([100, 140, 70], [80, 130, 105])
    lines = [line | {"duration_s": took} for side, took in zip(sides, wall_s, strict=True) for line in side]
    (finding,) = with_runs(lines)
    assert finding.advice is not None
    assert (finding.advice.choose, finding.advice.worse) == (("new",), ())
    assert SPEED in [effect.metric for effect in finding.facts["undecided"]]
    assert METRICS[SPEED].label.lower() in finding.action.lower()
    assert (f"{wall_s[1]:g} s, not {wall_s[0]:g} s" in finding.action) is longer


def test_trade_off_names_the_experiment_that_got_worse():
    """A reader attributed a slowdown in another experiment to the setting that was better in memory."""
    here = [line | {SPEED: None} for group in rates([1, 1, 1], [1, 1, 1], experiment="leaner") for line in group]
    slow = [line for group in rates([100, 101, 102], [50, 51, 52], experiment="slower") for line in group]
    (finding,) = differences(here, [line | {GROWTH: 100 * MB, PEAK: 200 * MB} for line in slow])
    assert finding.advice is not None
    assert (finding.advice.worse, finding.scope.experiment) == ((SPEED,), "leaner")
    assert "experiment slower" in finding.action.split("worse in")[1]


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


@pytest.mark.parametrize("advised", ["new", "old"])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_advice_names_a_confirmed_cost_that_is_several_times_and_small(advised, elsewhere):
    """Advice for memory hid that the script took three times the CPU time, because it was below 0.1 s."""
    sides = {"old": (300, 0.02), "new": (100, 0.06)} if advised == "new" else {"new": (300, 0.02), "old": (100, 0.06)}
    lines = [
        line | {"workload": "script", "peak_kept_bytes": size * MB, "cpu_s": None if elsewhere else cpu_s}
        for stack, (memory, cpu) in sides.items()
        for line, size, cpu_s in zip(runs(stack, nearly(memory)), nearly(memory), nearly(cpu), strict=True)
    ]
    slow = [
        line | {"workload": "script", "cpu_s": cpu_s, "experiment": "slower"}
        for stack, (_, cpu) in sides.items()
        for line, cpu_s in zip(runs(stack, nearly(100)), nearly(cpu), strict=True)
    ]
    (finding,) = differences(lines, slow if elsewhere else [])
    assert finding.advice is not None
    assert finding.advice.choose == (advised,)
    assert "CPU time" in finding.action and "0.06" in finding.action and "0.02" in finding.action
    assert ("Setting: experiment slower" in finding.action) is elsewhere


def test_advice_is_the_same_from_a_csv(tmp_path):
    """Pages are made from CSV, where an empty reason is missing: all their findings lacked the advice."""
    table = comparisons(pd.DataFrame([*OLD, *runs("new", [300, 302, 301])]), PAIRS)
    table.to_csv(tmp_path / "comparisons.csv", index=False)
    again = pd.read_csv(tmp_path / "comparisons.csv", keep_default_na=False, na_values=[""])
    (finding,), (of_csv,) = (findings({"comparisons": one}) for one in (table, again))
    assert of_csv.action == finding.action != ""
