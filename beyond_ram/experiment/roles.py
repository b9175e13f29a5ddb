"""Which stacks are compared with which: baselines and candidates."""

import itertools
from collections.abc import Iterable

from .grammar import parse
from .model import Config

Pair = tuple[str, str]


def pairs(config: Config, kept: Iterable[str] = ()) -> list[Pair]:
    """Every baseline with its candidate.

    What the config names in `comparisons`; in an experiment none of whose stacks is named there, the first stack of its
    matrix is the baseline of the others; and the older lock of a stack, among the `kept` runs, that of the renewed one.
    """
    found = [pair for comparison in config.comparisons.values() for pair in comparison.pairs()]
    named = set(itertools.chain.from_iterable(found))
    for experiment in config.run().values():
        first, *others = experiment.matrix.stack
        if not named & {first, *others}:
            found += [(first, other) for other in others]
    olds = dict.fromkeys(str(parse(path)["stack"]) for path in kept)
    found += [(old, old.partition("@")[0]) for old in olds]
    return list(dict.fromkeys(found))


def claimed(config: Config) -> list[Pair]:
    """The pairs of stacks that published claims are checked on."""
    return [pair for comparison in config.comparisons.values() if comparison.claims for pair in comparison.pairs()]
