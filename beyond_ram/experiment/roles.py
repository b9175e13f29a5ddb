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
    """Every baseline with its candidate.

    What the config names in `comparisons`; in an experiment none of whose stacks is named there, the first stack of its
    matrix is the baseline of the others; and of the `kept` runs of each stack every lock that of the next one, and the
    oldest that of today's.
    """
    pairs = [pair for comparison in config.comparisons.values() for pair in comparison.pairs()]
    named = set(itertools.chain.from_iterable(pairs))
    for experiment in config.run().values():
        first, *others = experiment.matrix.stack
        if not named & {first, *others}:
            pairs += [(first, other) for other in others]
    return list(dict.fromkeys([*pairs, *_of_locks(kept)]))


def _of_locks(kept: Iterable[str]) -> Iterator[Pair]:
    """Each kept lock, in the order in which they were kept, with the next ones that ran its cells, today's last."""
    ran: dict[str, dict[str, set[Cell]]] = {}
    for path in kept:
        cell = parse(path)
        lock = str(cell["stack"])
        stack = lock.partition("@")[0]
        ran.setdefault(stack, {}).setdefault(lock, set()).add(replace(cell.replace(stack=stack), rep=1))
    for stack, locks in ran.items():
        names = list(locks)
        for place, lock in enumerate(names):
            left = set(locks[lock])
            for later in names[place + 1 :]:
                if left & locks[later]:
                    yield lock, later
                left -= locks[later]
            if left:  # which cells today's lock runs, the config says
                yield lock, stack
        yield names[0], stack


def questions(config: Config) -> list[dict[str, Any]]:
    """The planned questions of all experiments that run, as analysis takes them (`frame.Questions`)."""
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


def claimed(config: Config) -> list[Pair]:
    """The pairs of stacks that published claims are checked on."""
    return [pair for comparison in config.comparisons.values() if comparison.claims for pair in comparison.pairs()]
