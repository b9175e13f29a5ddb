"""Rounds in one process: each runs every open block once, then asks which blocks are still open."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Generic

from .blocks import Block, Member, fitting, order


@dataclass(frozen=True)
class Round(Generic[Member]):
    """The result of a round."""

    open: tuple[Block[Member], ...]
    """The blocks that are undecided after it, most wanted first."""
    used_s: float
    """Seconds of all runs so far."""


def run(
    blocks: Sequence[Block[Member]],
    once: Callable[[Member, int], None],
    undecided: Callable[[int], Sequence[Block[Member]]],
    budget_s: float,
    *,
    seed: int,
    used_s: float = 0.0,
    drawn: bool = False,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Round[Member]]:
    """Run `blocks` in rounds until everything is decided, or no open block fits into the remaining budget.

    `once` runs a member with a repeat number, in the order of `order`. `undecided` is called after each round and
    returns the blocks to continue with, most wanted first; it can add new ones. The first round, or the first run of
    each member where the order is `drawn`, is made whatever the budget. `used_s` counts as already used. The expected
    time of a member is the mean of its runs; without runs, the mean of all members.
    """
    times: dict[Member, list[float]] = {}
    left, repeat = list(blocks), 0

    def expected_s(member: Member) -> float:
        if member in times:
            return fmean(times[member])
        return fmean(time for runs in times.values() for time in runs) if times else 0.0

    while left:
        first = not repeat or (drawn and any(member not in times for block in left for member in block.members))
        chosen = left if first else fitting(left, expected_s, budget_s - used_s)
        if not chosen:
            return
        repeat += 1
        for member, number in order(chosen, repeat, seed, drawn=drawn):
            began = clock()
            once(member, number)
            times.setdefault(member, []).append(clock() - began)
            used_s += times[member][-1]
        left = list(undecided(repeat))
        yield Round(tuple(left), used_s)
