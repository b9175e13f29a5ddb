"""The pairs of stacks to compare: baselines and candidates."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from .grammar import parse
from .model import Config
from .paths import Cell

Pair = tuple[str, str]


def pairs(config: Config, kept: Iterable[str] = ()) -> list[Pair]:
    """All pairs of baseline and candidate.

    These are the pairs of the config's `comparisons`; for an experiment without any of those stacks, the first stack of
    its matrix with each other one; and for `kept` runs, every lock of a stack with the next one, and the oldest with
    the current one.
    """
    pairs = [pair for comparison in config.comparisons.values() for pair in comparison.pairs()]
    stacks_in_pairs = set(itertools.chain.from_iterable(pairs))
    for experiment in config.run().values():
        first, *others = experiment.matrix.stack
        if not stacks_in_pairs & {first, *others}:
            pairs += [(first, other) for other in others]
    return list(dict.fromkeys([*pairs, *_of_locks(kept)]))


def _of_locks(kept: Iterable[str]) -> Iterator[Pair]:
    """Each kept lock, in the order of keeping, with the next locks that ran its cells, the current one last."""
    ran: dict[str, dict[str, set[Cell]]] = {}
    for path in kept:
        cell = parse(path)
        lock = str(cell["stack"])
        stack = lock.partition("@")[0]
        ran.setdefault(stack, {}).setdefault(lock, set()).add(replace(cell.replace(stack=stack), rep=1))
    for stack, locks in ran.items():
        names = list(locks)
        for place, lock in enumerate(names):
            cells_left = set(locks[lock])
            for later in names[place + 1 :]:
                if cells_left & locks[later]:
                    yield lock, later
                cells_left -= locks[later]
            if cells_left:  # the config defines which cells the current lock runs
                yield lock, stack
        yield names[0], stack


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
            planned.append({"experiment": name, "metric": one.metric, "axis": one.compare, "where": where})
    return planned
