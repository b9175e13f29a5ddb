"""Lines of table `runs` as the runs of a gate's policy, and its decisions as table `comparisons`."""

import pandas as pd

from beyond_ram.analysis.frame import key
from beyond_ram.gate.decided import comparisons, rules, values_of
from beyond_ram.measure.gate import GatePolicy
from beyond_ram.measure.plan import Member, Run
from beyond_ram.metrics import METRICS

PAIRS = [("base.baseline", "base.candidate")]


def runs_of(table):
    """The runs of some lines; cases are called as their experiment."""
    return [_run(line) for line in table.to_dict("records")]


def _run(line):
    member = Member(line["experiment"], line["stack"].removeprefix("base."))
    numbers = {name: None if pd.isna(line[name]) else line[name] for name in line if name in METRICS}
    values = values_of(line["workload"], line["completed_work"], numbers)
    return Run(member, line["rep"], "round", line["outcome"], values=values, ended_at=60.0)


def policy_of(table, rare=None):
    return GatePolicy(dict.fromkeys(table["experiment"], "base"), 1, rules, rare)


def table_of(policy, table):
    """Table `comparisons` of a policy that has decided from these lines."""
    cells = {key(line): line["experiment"] for line in table.to_dict("records")}
    return comparisons(policy.decided, table, PAIRS, cells)


def decided(table):
    """Table `comparisons` at one look at all runs."""
    policy = policy_of(table)
    policy.look(runs_of(table), int(table["rep"].max()))
    return table_of(policy, table)
