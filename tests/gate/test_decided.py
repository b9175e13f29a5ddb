"""Comparisons of a gate, look by look: decisions stay, intervals agree with them, and equal sides are rarely worse."""

import functools

import pandas as pd
import pytest

from beyond_ram.decisions.rule import LOOKS, turns

from ..analysis.simulated import NOISE
from ..analysis.test_comparisons import runs
from .lines import decided, looked, table_of

OLD, NEW = "base.baseline", "base.candidate"


def both(n, **values):
    """Repeats 1 to n of both sides; `values` are the candidate's, the baseline has 100 MB. Rates scatter widely."""
    table = pd.DataFrame([*runs(stack=OLD, n=n), *runs(stack=NEW, n=n, **values)])
    return table.assign(tokens_per_cpu_s=[100.0 * (1 + 7 * place % 5) for place in range(2 * n)])


def results(policy):
    return {metric: one.decision.result for (_, metric), one in policy.decided.items()}


def test_change_stays_with_its_numbers_and_same_is_decided_anew():
    policy, table = looked(both(4, grown=200)), both(6, grown=100)
    assert policy.open == ["e"], "the rate is open"
    assert results(policy) == {"grown_anon_bytes": "worse", "tokens_per_cpu_s": "undecided"}
    lines = table_of(looked(both(4, grown=200), table), table).set_index("metric")
    assert lines.loc["grown_anon_bytes", "ratio"] == pytest.approx(2, rel=0.01)
    assert lines.loc[["grown_anon_bytes", "tokens_per_cpu_s"], "n"].tolist() == [4, 6]
    assert results(looked(both(4)))["grown_anon_bytes"] == "same"
    assert results(looked(both(4), both(6, grown=200)))["grown_anon_bytes"] != "same"


def test_nothing_is_decided_before_the_first_look():
    table = both(3, grown=200)
    policy = looked(table)
    assert (policy.open, set(results(policy).values())) == (["e"], {"undecided"})
    assert set(table_of(policy, table)["reason"]) == {"too few repeats"}


def test_fewest_runs_hold_back_same_and_no_change():
    for grown, result in ((100, "undecided"), (110, "worse")):
        table = both(4, grown=grown).drop(columns="tokens_per_cpu_s")
        assert results(looked(table, rare=0.32)) == {"grown_anon_bytes": result}


def test_run_without_a_value_of_a_metric_keeps_it_from_being_same():
    table = both(8).drop(columns="tokens_per_cpu_s")
    assert (looked(table).open, results(looked(table))) == ([], {"grown_anon_bytes": "same"})
    table.loc[table.index[-1], "grown_anon_bytes"] = float("nan")
    assert (looked(table).open, results(looked(table))) == (["e"], {"grown_anon_bytes": "undecided"})


@pytest.mark.parametrize(("grown", "result"), [(115, "same"), (107, "same"), (130, "worse"), (70, "better")])
def test_interval_agrees_with_the_result(grown, result):
    baseline = runs(stack=OLD, n=4, grown=110)
    table = pd.DataFrame([*baseline, *runs(stack=NEW, n=4, grown=grown)]).drop(columns="tokens_per_cpu_s")
    (line,) = decided(table).to_dict("records")
    assert line["result"] == result
    assert line["low"] <= line["ratio"] <= line["high"]
    assert {"worse": line["low"] > 1, "better": line["high"] < 1, "same": line["high"] < 1.1}[result]


def test_clocks_keep_no_cell_open():
    lines = [
        line | {"duration_s": 5.0, "rows": 5, "rows_at_fault": 0.0, "rows_per_s": rate}
        for stack in (OLD, NEW)
        for line, rate in zip(runs("stream", stack=stack, n=4), (10.0, 900.0, 1.0, 50.0), strict=True)
    ]
    policy = looked(pd.DataFrame(lines))
    assert policy.open == []
    assert results(policy) == {"rows_at_fault": "same", "rows_per_s": "undecided"}


def test_clients_that_read_other_rows_are_compared_by_their_faults_alone():
    lines = [line | {"rows": rows, "rows_at_fault": 0.0, "rows_per_s": 10.0}
             for stack, rows in ((OLD, 5), (NEW, 4)) for line in runs("stream", stack=stack, n=4)]  # fmt: skip
    assert decided(pd.DataFrame(lines))["metric"].tolist() == ["rows_at_fault"]


def test_cell_that_fails_on_both_sides_is_closed():
    lines = both(4).assign(run_failed=1.0, outcome="failed", completed_work=False)
    assert looked(lines).open == []
    assert decided(lines)[["metric", "baseline", "candidate"]].to_numpy().tolist() == [["run_failed", 1.0, 1.0]]


@functools.cache
def measured():
    """Recorded runs: one line per run, one column per metric."""
    return pd.read_csv(NOISE).pivot_table(index=["cell", "workload", "rep"], columns="metric", values="value")


def gate(seed):
    """Sixteen recorded runs of many cells, from both sides in a drawn order."""
    turn = [one for repeat in range(1, 9) for one in turns(2, repeat, seed)]
    lines = []
    for place, (side, repeat) in enumerate(turn):
        readings = measured().xs(place + 1, level="rep").reset_index().rename(columns={"cell": "experiment"})
        fields = {"stack": (OLD, NEW)[side], "rep": repeat, "started_at": 10.0 * place, "duration_s": 1.0}
        lines.append(readings.assign(**fields, outcome="completed", completed_work=True, reason=""))
    return pd.concat(lines, ignore_index=True)


def worse(gates):
    """The share of gates between equal sides that say worse at any look."""
    alarms = 0
    for seed in range(gates):
        table = gate(seed)
        policy = looked(*(table[table["rep"] <= n] for n in LOOKS[:3]))
        alarms += "worse" in results(policy).values()
    return alarms / gates


@pytest.mark.slow
def test_few_gates_over_recorded_noise_say_worse():
    assert not worse(8)


if __name__ == "__main__":
    print(f"{worse(300):.3f}")  # docs/measured/method/looks.csv
