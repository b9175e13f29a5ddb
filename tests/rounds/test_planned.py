"""Runs that use the rest of a budget, by simulation."""

import itertools
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

from beyond_ram.analysis.sequential import AT
from beyond_ram.experiment import Cell
from beyond_ram.rounds.planned import Decided, next_runs

PAIRS = [("old", "new")]
QUESTIONS = [
    {"experiment": name, "metric": "tokens_per_cpu_s", "axis": "stack", "where": {}} for name in ("cheap", "dear")
]
SECONDS = {"cheap": 1.0, "dear": 5.0, "unasked": 1.0}
Value = Callable[[Cell], float]


def cells(repeats: int) -> list[Cell]:
    combinations = itertools.product(SECONDS, ("old", "new"), range(1, repeats + 1))
    return [Cell(name, (("stack", stack), ("num_files", 1)), rep) for name, stack, rep in combinations]


def decided(runs: list[Cell], value: Value, budget_s: float) -> Decided:
    records = {
        run: {"cell": run.parameters(), "duration_s": 0.5, "weighing_s": SECONDS[run.experiment]} for run in runs
    }
    fields = {"workload": "tokenize", "outcome": "completed", "completed_work": True, "reason": "", "run_failed": 0.0}
    table = pd.DataFrame([run.parameters() | fields | {"tokens_per_cpu_s": value(run)} for run in runs])
    return next_runs(records, table, [*SECONDS], PAIRS, QUESTIONS, budget_s)


def noisy(seed: int = 1) -> Value:
    """The two stacks differ by 10 %, too little to show in two repeats with this noise."""
    rng = np.random.default_rng(seed)
    return lambda run: 1000 * (1.1 if run["stack"] == "new" else 1) * float(np.exp(0.15 * rng.normal()))


@pytest.mark.slow
def test_only_the_cells_of_undecided_questions_are_repeated() -> None:
    decision = decided(cells(2), noisy(), budget_s=1000)
    assert decision.undecided == 2
    assert decision.used_s == 2 * 2 * sum(SECONDS.values())
    assert sorted({(run.experiment, run["stack"]) for run in decision.runs}) == [
        (name, stack) for name in ("cheap", "dear") for stack in ("new", "old")
    ]
    assert {run.rep for run in decision.runs} == {3}


def test_nothing_follows_when_all_is_decided() -> None:
    decision = decided(cells(2), lambda run: 1000.0 + (run["stack"] == "new") * 5000 + run.rep, budget_s=1000)
    assert (decision.runs, decision.undecided) == ((), 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("left_s", "names"), [(1.9, set()), (2.0, {"cheap"}), (11.9, {"cheap"}), (12.0, {"cheap", "dear"})]
)
def test_both_sides_of_a_question_fit_or_it_is_left_out(left_s: float, names: set[str]) -> None:
    decision = decided(cells(2), noisy(), budget_s=28 + left_s)
    assert {run.experiment for run in decision.runs} == names


@pytest.mark.slow
def test_a_round_goes_on_to_the_next_look_as_far_as_it_fits() -> None:
    decision = decided(cells(4), noisy(3), budget_s=1000)
    assert {run.rep for run in decision.runs} == {5, 6}
    assert {run.rep for run in decided(cells(4), noisy(3), budget_s=56 + 12).runs} == {5}
    assert not decided(cells(AT[-1]), lambda _: float(np.random.default_rng().normal(1000, 300)), 1e6).runs


@pytest.mark.slow
def test_a_budget_is_used_and_not_exceeded() -> None:
    value, runs, rounds = noisy(5), cells(2), 0
    values: dict[Cell, float] = {}

    def fixed_value(run: Cell) -> float:
        return values.setdefault(run, value(run))

    while (decision := decided(runs, fixed_value, budget_s=90)).runs:
        runs, rounds = [*runs, *decision.runs], rounds + 1
    assert decision.used_s <= 90
    assert rounds < len(AT)
    assert not decision.undecided or decision.used_s > 90 - 2 * SECONDS["dear"]
