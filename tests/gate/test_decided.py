"""Comparisons of a gate, look by look: decisions stay, intervals agree with them, and equal sides are rarely worse."""

import functools

import pandas as pd
import pytest

from beyond_ram.analysis.frame import key
from beyond_ram.decisions.rule import LOOKS, turns
from beyond_ram.gate.decided import Comparisons

from ..analysis.simulated import NOISE
from ..analysis.test_comparisons import runs

PAIRS = [("old", "new")]
CELL = key({"experiment": "e", "stack": "new"})


def both(n, **values):
    """Repeats 1 to n of both sides; `values` are the candidate's, the baseline has 100 MB. Rates scatter widely."""
    table = pd.DataFrame([*runs(stack="old", n=n), *runs(stack="new", n=n, **values)])
    return table.assign(tokens_per_cpu_s=[100.0 * (1 + 7 * place % 5) for place in range(2 * n)])


def results(comparisons):
    return {metric: one.decision.result for (_, metric), one in comparisons.decided.items()}


def test_change_stays_with_its_numbers_and_same_is_decided_anew():
    comparisons = Comparisons(PAIRS)
    assert comparisons.look(both(4, grown=200), 4) == {CELL}, "the rate is open"
    assert results(comparisons) == {"grown_anon_bytes": "worse", "tokens_per_cpu_s": "undecided"}
    comparisons.look(both(6, grown=100), 6)
    table = comparisons.table().set_index("metric")
    assert table.loc["grown_anon_bytes", "ratio"] == pytest.approx(2, rel=0.01)
    assert table.loc[["grown_anon_bytes", "tokens_per_cpu_s"], "n"].tolist() == [4, 6]
    comparisons = Comparisons(PAIRS)
    comparisons.look(both(4), 4)
    assert results(comparisons)["grown_anon_bytes"] == "same"
    comparisons.look(both(6, grown=200), 6)
    assert results(comparisons)["grown_anon_bytes"] != "same"


def test_nothing_is_decided_before_the_first_look():
    comparisons = Comparisons(PAIRS)
    assert comparisons.look(both(3, grown=200), 3) == {CELL}
    assert set(results(comparisons).values()) == {"undecided"}
    assert set(comparisons.table()["reason"]) == {"too few repeats"}


def test_fewest_runs_hold_back_same_and_no_change():
    comparisons = Comparisons(PAIRS)
    comparisons.look(both(4).drop(columns="tokens_per_cpu_s"), 4, fewest=8)
    assert results(comparisons) == {"grown_anon_bytes": "undecided"}
    comparisons.look(both(4, grown=110).drop(columns="tokens_per_cpu_s"), 4, fewest=8)
    assert results(comparisons) == {"grown_anon_bytes": "worse"}


def test_run_without_a_value_of_a_metric_keeps_it_from_being_same():
    comparisons, table = Comparisons(PAIRS), both(8).drop(columns="tokens_per_cpu_s")
    comparisons.look(table, 8)
    assert results(comparisons) == {"grown_anon_bytes": "same"}
    comparisons, unknown = Comparisons(PAIRS), table.copy()
    unknown.loc[unknown.index[-1], "grown_anon_bytes"] = float("nan")
    assert comparisons.look(unknown, 8) == {CELL}
    assert results(comparisons) == {"grown_anon_bytes": "undecided"}


@pytest.mark.parametrize(("grown", "result"), [(115, "same"), (107, "same"), (130, "worse"), (70, "better")])
def test_interval_agrees_with_the_result(grown, result):
    baseline = runs(stack="old", n=4, grown=110)
    table = pd.DataFrame([*baseline, *runs(stack="new", n=4, grown=grown)]).drop(columns="tokens_per_cpu_s")
    comparisons = Comparisons(PAIRS)
    comparisons.look(table, 4)
    (line,) = comparisons.table().to_dict("records")
    assert line["result"] == result
    assert line["low"] <= line["ratio"] <= line["high"]
    assert {"worse": line["low"] > 1, "better": line["high"] < 1, "same": line["high"] < 1.1}[result]


def test_clocks_keep_no_cell_open():
    lines = [
        line | {"duration_s": 5.0, "rows": 5, "rows_at_fault": 0.0, "rows_per_s": rate}
        for stack in ("old", "new")
        for line, rate in zip(runs("stream", stack=stack, n=4), (10.0, 900.0, 1.0, 50.0), strict=True)
    ]
    comparisons = Comparisons(PAIRS)
    assert comparisons.look(pd.DataFrame(lines), 4) == set()
    assert results(comparisons) == {"rows_at_fault": "same", "rows_per_s": "undecided"}


def test_cell_that_fails_on_both_sides_is_closed():
    comparisons = Comparisons(PAIRS)
    lines = both(4).assign(run_failed=1.0, outcome="failed", completed_work=False).drop(columns="grown_anon_bytes")
    lines = lines.drop(columns="tokens_per_cpu_s")
    assert comparisons.look(lines, 4) == set()
    assert comparisons.table()[["metric", "baseline", "candidate"]].to_numpy().tolist() == [["run_failed", 1.0, 1.0]]


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
        fields = {"stack": ("old", "new")[side], "rep": repeat, "started_at": 10.0 * place, "duration_s": 1.0}
        lines.append(readings.assign(**fields, outcome="completed", completed_work=True, reason=""))
    return pd.concat(lines, ignore_index=True)


def worse(gates):
    """The share of gates between equal sides that say worse at any look."""
    alarms = 0
    for seed in range(gates):
        table, comparisons = gate(seed), Comparisons(PAIRS)
        for n in LOOKS[:3]:
            comparisons.look(table, n)
        alarms += "worse" in results(comparisons).values()
    return alarms / gates


@pytest.mark.slow
def test_few_gates_over_recorded_noise_say_worse():
    assert not worse(8)


if __name__ == "__main__":
    print(f"{worse(300):.3f}")  # docs/measured/method/looks.csv
