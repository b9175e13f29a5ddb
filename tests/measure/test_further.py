"""Further repeats, by simulation."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from beyond_ram.analysis.decide import LOOKS
from beyond_ram.analysis.frame import key
from beyond_ram.analysis.sequential import Open, open_questions
from beyond_ram.experiment import Cell, parse
from beyond_ram.measure.campaign import Campaign
from beyond_ram.measure.further import FurtherPolicy, member_of, run_of
from beyond_ram.measure.plan import Member, Run

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
    """Runs that take fixed times, in a campaign with a clock of its own."""

    def __init__(self, value, left_s):
        self.value, self.left_s, self.order = value, left_s, []

    def run(self, cell, block=""):
        """The first run of a cell is explained too, which no further one is."""
        explained_s = 50.0 * (cell.rep == 1)
        record = {"measuring_s": SECONDS[cell.experiment] + explained_s, "why": {"measuring_s": explained_s}}
        return run_of(cell, (record | {"outcome": "completed"}, []), block)

    def undecided(self, runs):
        fields = {"workload": "tokenize", "outcome": "completed", "completed_work": True, "reason": "", "run_failed": 0}
        made = [parse(run.folder) for run in runs]
        lines = [cell.parameters() | fields | {"tokens_per_cpu_s": self.value(cell)} for cell in made]
        return open_questions(pd.DataFrame(lines), PAIRS, QUESTIONS)

    def further(self, tmp_path, on_disk=(), repeated=(*SECONDS,)):
        members = {member_of(cell): cell for cell in cells(2) if cell.experiment in repeated}

        def once(member, number, block):
            self.order.append(replace(members[member], rep=number))
            now[0] += SECONDS[member.case]
            return self.run(self.order[-1], block)

        now = [0.0]
        campaign = Campaign(tmp_path, 1, once, clock=lambda: now[0])
        campaign.runs = [self.run(cell) for cell in (*cells(1, 2), *on_disk)]
        keys = {key(cell.parameters()): member for member, cell in members.items()}
        campaign.run(FurtherPolicy(self.undecided, keys, 2, seed=1), self.left_s)
        self.left_s -= now[0]
        return {parse(run.folder) for run in campaign.runs} - {*cells(1, 2)}


@pytest.mark.slow
def test_only_the_cells_of_undecided_questions_are_repeated_both_sides_in_a_row(tmp_path):
    runs = Simulated(noisy(), left_s=1000)
    made = runs.further(tmp_path)
    assert len(runs.order) == len(made)
    for first, second in zip(runs.order[::2], runs.order[1::2], strict=True):
        assert first == second.replace(stack=first["stack"]) != second
    last = {name: max(run.rep for run in made if run.experiment == name) for name in ("cheap", "dear")}
    assert {*last.values()} <= {*LOOKS}, "one stops at a look only"
    assert {run.experiment for run in Simulated(noisy(), left_s=1000).further(tmp_path, repeated=["dear"])} == {"dear"}


@pytest.mark.slow
def test_both_sides_of_a_question_fit_or_it_is_left_out(tmp_path):
    for left_s, names in (1.9, set()), (2.0, {"cheap"}), (11.9, {"cheap"}), (12.0, {"cheap", "dear"}):
        made = Simulated(noisy(), left_s).further(tmp_path)
        assert {run.experiment for run in made if run.rep == 3} == names


@pytest.mark.slow
def test_a_budget_is_used_and_not_exceeded(tmp_path):
    for left_s in (30.0, 62.0):
        runs = Simulated(lambda run: float(np.random.default_rng(run.rep).normal(1000, 300)), left_s)
        runs.further(tmp_path)
        assert 0 <= runs.left_s < 2 * SECONDS["dear"]


@pytest.mark.slow
def test_call_after_a_kill_makes_what_an_undisturbed_one_makes(tmp_path):
    undisturbed = Simulated(noisy(), left_s=1000)
    made = undisturbed.further(tmp_path)
    for there, missing in (slice(2), slice(2, None)), (slice(8), slice(8, None)), (slice(1, None), slice(1)):
        again = Simulated(noisy(), left_s=1000)
        assert again.further(tmp_path, on_disk=undisturbed.order[there]) == made
        assert again.order == undisturbed.order[missing]


@pytest.mark.slow
def test_runs_of_earlier_calls_count_without_a_budget_and_when_all_is_decided(tmp_path):
    on_disk = [run for run in cells(3, 4, 5) if run.experiment == "cheap"]
    for value, left_s in ((noisy(), -1), (decided, -1), (decided, 1000)):
        runs = Simulated(value, left_s)
        assert runs.further(tmp_path, on_disk) == {*on_disk}
        assert not runs.order


def test_questions_with_a_shared_cell_share_its_runs():
    a, b, c = members = [Member("case", side) for side in "abc"]
    questions = [Open({}, (a, b), 1.0), Open({}, (a, c), 2.0)]
    policy = FurtherPolicy(lambda runs: questions, {one: one for one in members}, 2, seed=1)
    runs = [Run(member, number, "", "completed", ended_at=1.0) for member in members for number in (1, 2)]
    for sides, number in (("ab", 3), ("c", 3), ("ab", 4), ("c", 4)):
        block = policy.next(runs)[0]
        assert "".join(sorted(member.side for member in block.members)) == sides
        runs += [Run(member, number, block.name, "completed", ended_at=1.0) for member in block.members]
