"""Further repeats, by simulation."""

import itertools

import numpy as np
import pandas as pd
import pytest

from beyond_ram.analysis.decide import LOOKS
from beyond_ram.analysis.sequential import open_questions
from beyond_ram.experiment import Cell
from beyond_ram.measure.further import further

PAIRS = [("old", "new")]
QUESTIONS = [
    {"experiment": name, "metric": "tokens_per_cpu_s", "axis": "stack", "where": {}} for name in ("cheap", "dear")
]
SECONDS = {"cheap": 1.0, "dear": 5.0, "unasked": 1.0}


def cells(*repeats):
    combinations = itertools.product(SECONDS, ("old", "new"), repeats)
    return [Cell(name, (("stack", stack), ("num_files", 1)), rep) for name, stack, rep in combinations]


def noisy(seed=1):
    """The two stacks differ by 10 %, too little to show in two repeats with this noise."""

    def value(run):
        draw = np.random.default_rng([seed, *map(ord, run.path)])
        return 1000 * (1.1 if run["stack"] == "new" else 1) * float(np.exp(0.15 * draw.normal()))

    return value


def decided(run):
    return 1000.0 + (run["stack"] == "new") * 5000 + run.rep


class Simulated:
    """Runs that take fixed times."""

    def __init__(self, value, left_s):
        self.value, self.left_s = value, left_s
        self.order = []

    def run(self, cell):
        """The first run of a cell is explained too, which no further one is."""
        explained = {"measuring_s": 50.0} if cell.rep == 1 else {}
        took_s = SECONDS[cell.experiment] + explained.get("measuring_s", 0)
        return {"cell": cell.parameters(), "measuring_s": took_s, "why": explained}, []

    def once(self, cell, undecided):
        assert undecided
        self.order.append(cell)
        self.left_s -= SECONDS[cell.experiment]
        return {cell: self.run(cell)}

    def undecided(self, runs):
        fields = {"workload": "tokenize", "outcome": "completed", "completed_work": True, "reason": "", "run_failed": 0}
        lines = [run.parameters() | fields | {"tokens_per_cpu_s": self.value(run)} for run in runs]
        return open_questions(pd.DataFrame(lines), PAIRS, QUESTIONS)

    def further(self, on_disk=(), repeated=(*SECONDS,)):
        certain = {cell: self.run(cell) for cell in cells(1, 2)}
        here = {cell: self.run(cell) for cell in on_disk}

        def once(cell, undecided):
            return {cell: here[cell]} if cell in here else self.once(cell, undecided)

        made = further(certain, here, self.undecided, once, lambda: self.left_s, repeated, 2, seed=1)
        assert {*certain} <= {*made}
        return {*made} - {*certain}


@pytest.mark.slow
def test_only_the_cells_of_undecided_questions_are_repeated_both_sides_in_a_row():
    runs = Simulated(noisy(), left_s=1000)
    made = runs.further()
    assert {run.experiment for run in made} == {"cheap", "dear"}
    assert len(runs.order) == len(made)
    for first, second in zip(runs.order[::2], runs.order[1::2], strict=True):
        assert (first.experiment, first.rep) == (second.experiment, second.rep)
        assert first["stack"] != second["stack"]
    last = {name: max(run.rep for run in made if run.experiment == name) for name in ("cheap", "dear")}
    assert {*last.values()} <= {*LOOKS}, "one stops at a look only"
    assert {run.experiment for run in Simulated(noisy(), left_s=1000).further(repeated=["dear"])} == {"dear"}


def test_nothing_follows_when_all_is_decided():
    assert not Simulated(decided, left_s=1000).further()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("left_s", "names"), [(1.9, set()), (2.0, {"cheap"}), (11.9, {"cheap"}), (12.0, {"cheap", "dear"})]
)
def test_both_sides_of_a_question_fit_or_it_is_left_out(left_s, names):
    made = Simulated(noisy(), left_s).further()
    assert {run.experiment for run in made if run.rep == 3} == names


@pytest.mark.slow
def test_a_budget_is_used_and_not_exceeded():
    for left_s in (30.0, 62.0):
        runs = Simulated(lambda run: float(np.random.default_rng(run.rep).normal(1000, 300)), left_s)
        runs.further()
        assert 0 <= runs.left_s < 2 * SECONDS["dear"]


@pytest.mark.slow
@pytest.mark.parametrize("kept", [1, 8])
def test_call_after_a_kill_makes_what_an_undisturbed_one_makes(kept):
    undisturbed = Simulated(noisy(), left_s=1000)
    made = undisturbed.further()
    assert len(made) > kept
    again = Simulated(noisy(), left_s=1000)
    assert again.further(on_disk=undisturbed.order[:kept]) == made
    assert {*again.order} == made - {*undisturbed.order[:kept]}


@pytest.mark.slow
def test_runs_on_disk_count_without_a_budget_and_when_all_is_decided():
    on_disk = [run for run in cells(3, 4, 5) if run.experiment == "cheap"]
    for value in (noisy(), decided):
        runs = Simulated(value, left_s=-1)
        assert runs.further(on_disk) == {*on_disk}
        assert not runs.order
