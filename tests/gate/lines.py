"""Lines of table `runs` as the runs of a gate's policy, and its decisions as table `comparisons`."""

import pandas as pd

from beyond_ram.experiment import AXES, Cell
from beyond_ram.gate.runs import comparisons, rules, values_of
from beyond_ram.measure.gate import GatePolicy
from beyond_ram.measure.plan import Member, Run
from beyond_ram.metrics import METRICS


def run_of(line, **more):
    """The run of a line; cases are called as their experiment."""
    member = Member(line["experiment"], line["stack"].removeprefix("base."))
    numbers = {name: None if pd.isna(line[name]) else line[name] for name in line if name in METRICS}
    values = values_of(line["workload"], line["completed_work"], numbers)
    return Run(member, line["rep"], "round", line["outcome"], values=values, **{"ended_at": 60.0} | more)


def looked(*tables, rare=None):
    """A policy after a look at all runs of each table."""
    policy = GatePolicy(dict.fromkeys(tables[0]["experiment"], "base"), 1, rules, rare)
    for table in tables:
        policy.look([run_of(line) for line in table.to_dict("records")], int(table["rep"].max()))
    return policy


def table_of(policy, table):
    """Table `comparisons` of a policy that has decided from these lines."""
    cells = {}
    for line in table.to_dict("records"):
        axes = tuple((axis, line[axis]) for axis in AXES if axis in line and pd.notna(line[axis]))
        cells[line["experiment"]] = Cell(line["experiment"], axes, 1)
    return comparisons(policy, cells, table)


def decided(table):
    """Table `comparisons` at one look at all runs."""
    return table_of(looked(table), table)
