"""The order and the end of a gate's runs, which are simulated."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from beyond_ram.analysis.changes import changes
from beyond_ram.gate.runs import rules
from beyond_ram.measure.campaign import Campaign
from beyond_ram.measure.gate import GatePolicy
from beyond_ram.measure.plan import Run

from .lines import run_of, table_of

CASES = {"first": "base", "second": "base"}


class Simulated:
    """Runs of some seconds each, whose values come from a function of case, side and repeat."""

    def __init__(self, value, run_s):
        self.value, self.now, self.run_s = value, 0.0, run_s
        self.done = []
        self.lines = []

    def once(self, member, number, block):
        case, (side, *unmeasured) = member.case, member.side.split(", ")
        repeat = 0 if unmeasured else number
        self.done.append((case, side, repeat))
        began, self.now = self.now, self.now + self.run_s
        if not repeat:
            return Run(member, number, block, "completed", started_at=began, ended_at=self.now)
        line = {"experiment": case, "stack": f"base.{side}", "num_files": 1 + (case == "second"), "rep": repeat}
        line |= {"workload": "tokenize", "outcome": "completed", "completed_work": True, "reason": ""}
        line |= {"started_at": began, "duration_s": 1.0, "run_failed": 0.0}
        self.lines.append(line | self.value(case, side, repeat))
        return run_of(self.lines[-1], started_at=began, ended_at=self.now)


def gate(value, budget_s=1000.0, run_s=1.0, rare=None):
    runs = Simulated(value, run_s)
    policy = GatePolicy(CASES, 1, rules, rare)
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(Path(folder), 1, runs.once, clock=lambda: runs.now)
        campaign.run(policy, budget_s)
    policy.end(campaign.runs)
    return table_of(policy, pd.DataFrame(runs.lines)), runs


@pytest.mark.parametrize(("run_s", "rare", "n"), [(1.0, None, 8), (2.0, None, 4), (2.0, 0.3, 10), (1.0, 0.5, 6)])
def test_same_takes_eight_short_runs_four_long_ones_and_as_many_as_asked_for(run_s, rare, n):
    result, runs = gate(lambda *_: {"grown_anon_bytes": 1e8}, run_s=run_s, rare=rare)
    assert {repeat for _, _, repeat in runs.done} == {*range(n + 1)}
    assert {*changes(result)["result"]} == {"same"}


def test_sides_are_in_one_drawn_order_in_all_cells():
    rng = np.random.default_rng(1)
    _, runs = gate(lambda *_: {"grown_anon_bytes": 1e8 * (1 + 0.001 * rng.normal())})
    measured = [run for run in runs.done if run[2]]
    rounds = [measured[begin : begin + 4] for begin in range(0, len(measured), 4)]
    assert all([cell for cell, *_ in round_] in (["first"] * 2 + ["second"] * 2, ["second"] * 2 + ["first"] * 2)
               for round_ in rounds)  # fmt: skip
    first, second = ([run[1:] for run in measured if run[0] == cell] for cell in ("first", "second"))
    assert first == second
    assert sorted(first[:8]) == [(side, repeat) for side in ("baseline", "candidate") for repeat in (1, 2, 3, 4)]


def test_each_side_of_a_stack_has_one_unmeasured_run():
    _, runs = gate(lambda *_: {"token_count": 5.0})
    unmeasured = [(cell, side) for cell, side, repeat in runs.done if not repeat]
    assert len({cell for cell, _ in unmeasured}) == 1
    assert sorted(side for _, side in unmeasured) == ["baseline", "candidate"]


@pytest.mark.slow
def test_decided_cell_is_not_measured_again():
    rng = np.random.default_rng(1)

    def value(cell, side, _):
        noise = 0.05 if cell == "second" else 0.0
        return {"tokens_per_cpu_s": 1000 * (1 + noise * rng.normal()), "token_count": 5 + (side == "candidate")}

    result, runs = gate(value)
    most = {cell: max(repeat for name, _, repeat in runs.done if name == cell) for cell in ("first", "second")}
    assert most["first"] < most["second"]
    table = changes(result).set_index(["experiment", "metric"])
    assert table.loc[("first", "token_count"), "result"] == "worse"


def test_gate_ends_before_a_repeat_that_exceeds_the_budget():
    rng = np.random.default_rng(1)
    result, runs = gate(lambda *_: {"tokens_per_cpu_s": 1000 * np.exp(rng.normal())}, budget_s=19)
    assert max(repeat for _, _, repeat in runs.done) == 4
    assert runs.now == len(runs.done) == 18
    assert "undecided" in set(changes(result)["result"])


def test_failing_candidate_is_decided_with_four_repeats():
    def value(_, side, __):
        if side == "baseline":
            return {"grown_anon_bytes": 1e8}
        return {"outcome": "failed", "completed_work": False, "run_failed": 1.0, "reason": "no such attribute"}

    result, runs = gate(value)
    assert max(repeat for _, _, repeat in runs.done) == 4
    line = changes(result).iloc[0]
    assert (line["metric"], line["result"]) == ("run_failed", "worse")
    assert line["not_completed"] == "failed: no such attribute (4 of 8)"


@pytest.mark.parametrize("budget_s", [0.5, 1000])
def test_gate_ends_if_a_side_is_not_applicable(budget_s):
    def value(_, side, __):
        if side == "baseline":
            return {"grown_anon_bytes": 1e8}
        return {"outcome": "not_applicable", "completed_work": False, "run_failed": None, "reason": "gone"}

    result, runs = gate(value, budget_s)
    assert max(repeat for _, _, repeat in runs.done) <= 4
    assert result.empty


def test_first_runs_that_an_earlier_call_did_not_make_come_first():
    stacks = {"first": "base", "second": "other"}
    blocks = GatePolicy(stacks, 1, rules).next([])
    assert len(blocks) == 2
    runs = [Run(member, 1, blocks[0].name, "completed") for member in blocks[0].members]
    assert GatePolicy(stacks, 1, rules).next(runs) == blocks[1:]
