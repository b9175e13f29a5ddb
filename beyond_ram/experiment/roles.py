"""The pairs of stacks to compare: baselines and candidates."""

import itertools
from pathlib import Path
from typing import Any

from ..stacks.locks import BEFORE, ENVS
from .model import Config

Pair = tuple[str, str]


def run_locks_before(config: Config, root: Path | str) -> None:
    """Run each stack's lock before its last upgrade in the same experiments, while it is there."""
    for experiment in config.run().values():
        experiment.matrix.stack[:] = [
            one
            for stack in experiment.matrix.stack
            for one in (f"{stack}{BEFORE}", stack)
            if one == stack or Path(root, ENVS, f"{one}.in").is_file()
        ]


def pairs(config: Config) -> list[Pair]:
    """All pairs of baseline and candidate.

    These are the pairs of the config's `comparisons`; for an experiment without any of those stacks, the first stack of
    its matrix with each other one; and the lock of a stack before its upgrade with the present one.
    """
    pairs = [pair for comparison in config.comparisons.values() for pair in comparison.pairs()]
    stacks_in_pairs = set(itertools.chain.from_iterable(pairs))
    for experiment in config.run().values():
        stacks = experiment.matrix.stack
        upgraded = [(f"{stack}{BEFORE}", stack) for stack in stacks if f"{stack}{BEFORE}" in stacks]
        first, *others = (stack for stack in stacks if stack not in dict(upgraded))
        if not stacks_in_pairs & {first, *others}:
            pairs += [(first, other) for other in others]
        pairs += upgraded
    return list(dict.fromkeys(pairs))


def questions(config: Config) -> list[dict[str, Any]]:
    """The planned questions of all experiments that run, in the form of `frame.Questions`."""
    planned = []
    for name, experiment in config.run().items():
        cells = config.cells(name) if experiment.questions else []
        for one in experiment.questions:
            where = {
                axis: one.values(axis, {value for cell in cells if (value := cell.get(axis)) is not None})
                for axis in one.where
            }
            looked_at = bool(config.budget_min) and experiment.repeats is None
            planned.append(
                {"experiment": name, "metric": one.metric, "axis": one.compare, "where": where, "looked_at": looked_at}
            )
    return planned
