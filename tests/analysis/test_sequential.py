"""Repeated looks at runs while they come in: decisions stay, and equal sides are rarely called worse."""

import functools
import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

from beyond_ram.analysis.changes import changes
from beyond_ram.analysis.comparisons import comparisons
from beyond_ram.analysis.frame import key
from beyond_ram.analysis.sequential import (
    AT,
    SHARE,
    Open,
    look,
    open_questions,
    undecided,
    without_work,
)

from .simulated import NOISE
from .test_comparisons import runs

PAIRS = [("old", "new")]


def both(n: int, **values: float) -> pd.DataFrame:
    """Repeats 1 to n of both sides; `values` are the candidate's, the baseline has 100 and 1000."""
    return pd.DataFrame([*runs(stack="old", n=n), *runs(stack="new", n=n, **values)])


def test_decision_of_an_earlier_look_stays() -> None:
    first = look(None, both(3, grown=200), PAIRS)
    assert dict(zip(first["metric"], changes(first)["verdict"], strict=True))["grown_anon_bytes"] == "worse"
    second = look(first, both(4, grown=100), PAIRS).set_index("metric")
    assert second.loc["grown_anon_bytes", "ratio"] == pytest.approx(2, rel=0.01)
    assert second.loc["grown_anon_bytes", "n"] == 3
    assert second.loc["tokens_per_cpu_s", "n"] == 4


def open_for(rates: dict[str, tuple[float, ...]]) -> list[Open]:
    lines = [
        line | {"tokens_per_cpu_s": rate}
        for stack, values in rates.items()
        for line, rate in zip(runs(stack=stack, n=len(values)), values, strict=True)
    ]
    question = {"experiment": "e", "metric": "tokens_per_cpu_s", "axis": "stack", "where": {}}
    return open_questions(pd.DataFrame(lines), PAIRS, [question])


def test_noisier_questions_need_more_repeats() -> None:
    new, old = (key({"experiment": "e", "stack": stack}) for stack in ("new", "old"))
    (noisy,) = open_for({"old": (100, 101), "new": (130, 150)})
    assert noisy.cells == (old, new)
    (noisier,) = open_for({"old": (100, 101), "new": (115, 165)})
    assert 0 < noisy.repeats < noisier.repeats < math.inf
    assert open_for({"old": (100, 101), "new": (200, 202)}) == [], "a decided question needs none"
    (single,) = open_for({"old": (100,), "new": (200,)})
    assert single.repeats == 1
    (hopeless,) = open_for({"old": (100, 300), "new": (300, 100)})
    assert hopeless.repeats == math.inf


def test_each_look_has_only_its_share_of_the_level() -> None:
    """Intervals of a look are wider than those of a report."""
    table = look(None, both(4), PAIRS)
    wide = changes(look(None, both(4), PAIRS)).set_index("metric")
    assert pytest.approx(0.05 / len(AT)) == SHARE
    assert (table["high"] - table["low"]).gt(0).all()
    plain = comparisons(both(4), PAIRS).set_index("metric")
    assert (wide["high"] > plain["high"]).all()


def test_cell_is_undecided_for_memory_and_counts_but_not_for_times() -> None:
    lines = [
        line | {"duration_s": 5.0, "rows": 5, "rows_at_fault": 0.0, "rows_per_s": rate}
        for stack in ("old", "new")
        for line, rate in zip(runs("stream", stack=stack, n=2), (10.0, 900.0), strict=True)
    ]
    table = look(None, pd.DataFrame(lines), PAIRS)
    assert set(table["metric"]) == {"rows_at_fault", "rows_per_s"}
    assert undecided(table) == set()
    table = look(None, both(1), PAIRS)
    assert undecided(table) == {key({"experiment": "e", "stack": "new"})}


def test_cell_that_fails_on_both_sides_has_no_work() -> None:
    table = look(None, both(2).assign(outcome="failed", completed_work=False, run_failed=1.0), PAIRS)
    assert without_work(table[table["metric"] == "run_failed"]) == {key({"experiment": "e", "stack": "new"})}
    table = look(None, both(2).assign(run_failed=0.0), PAIRS)
    assert without_work(table[table["metric"] == "run_failed"]) == set()


@functools.cache
def measured() -> pd.DataFrame:
    """Recorded runs: one line per run, one column per metric."""
    return pd.read_csv(NOISE).pivot_table(index=["cell", "workload", "rep"], columns="metric", values="value")


def gates(rng: np.random.Generator, factor: float = 1.0) -> Iterator[pd.DataFrame]:
    """The runs of a gate up to each look: recorded runs of many cells, with labels of neighbours in time permuted.

    `factor` multiplies every metric of the candidate.
    """
    noise = measured()
    order = rng.permutation(8)
    flips = rng.integers(2, size=8)
    lines = []
    for block, (at, flip) in enumerate(zip(order, flips, strict=True)):
        for side, stack in enumerate(("old", "new")):
            readings = noise.xs(2 * at + 1 + (flip ^ side), level="rep") * (factor if side else 1.0)
            fields = {"stack": stack, "rep": block + 1, "started_at": 10.0 * block + side, "duration_s": 1.0}
            fields |= {"outcome": "completed", "completed_work": True, "reason": ""}
            lines.append(readings.reset_index().rename(columns={"cell": "experiment"}).assign(**fields))
    runs = pd.concat(lines, ignore_index=True)
    for n in (n for n in AT if n <= 8):
        yield runs[runs["rep"] <= n]


def worse(rng: np.random.Generator, number: int) -> float:
    """The share of gates between equal sides that say worse at any look."""
    alarms = 0
    for _ in range(number):
        decisions: pd.DataFrame | None = None
        weighed: pd.DataFrame | None = None
        open_: set[object] | None = None
        for gate in gates(rng):
            if open_ is not None and weighed is not None:  # decided cells are not weighed further
                lines = gate[["experiment"]].to_dict("records")
                more = gate[[key(dict(line, stack="new")) in open_ for line in lines]]
                gate = pd.concat([weighed, more[more["rep"] > weighed["rep"].max()]])
            decisions, weighed = look(decisions, gate, PAIRS), gate
            open_ = set(undecided(decisions))
        assert decisions is not None
        alarms += bool((changes(decisions)["verdict"] == "worse").any())
    return alarms / number


@pytest.mark.slow
def test_few_gates_without_a_difference_say_worse() -> None:
    assert worse(np.random.default_rng(3), 20) <= 0.05


def main() -> None:
    """Print the share of false alarms of docs/method-evidence.md."""
    print(f"{worse(np.random.default_rng(1), 300):.3f}")


if __name__ == "__main__":
    main()
