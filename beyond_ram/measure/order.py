"""Blocks of compared things, the order of a round, and what of it fits into a budget."""

import random
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Member = TypeVar("Member", bound=Hashable)


@dataclass(frozen=True)
class ComparedMembers(Generic[Member]):
    """Things that are compared with each other. A round runs each of them once, directly after one another."""

    name: str
    members: tuple[Member, ...]


def order(blocks: Sequence[ComparedMembers[Member]], repeat: int, seed: int) -> list[Member]:
    """The order of one round, in which each member runs once.

    Blocks and their members are in random order. An even repeat of a block reverses the odd one before it, so that a
    machine that slows down steadily favours no side.
    """
    shuffled = sorted(blocks, key=lambda block: block.name)
    random.Random(f"{seed} {repeat}").shuffle(shuffled)
    members: dict[Member, None] = {}
    for block in shuffled:
        own = list(block.members)
        random.Random(f"{seed} {block.name} {(repeat - 1) // 2}").shuffle(own)
        members |= dict.fromkeys(own if repeat % 2 else reversed(own))
    return [*members]


def fitting(
    blocks: Sequence[ComparedMembers[Member]], seconds_of: Callable[[Member], float], left_s: float
) -> list[ComparedMembers[Member]]:
    """The blocks, most wanted first, of which one repeat fits into the remaining time. A shared member counts once."""
    chosen, members = list[ComparedMembers[Member]](), set[Member]()
    for block in blocks:
        cost_s = sum(seconds_of(member) for member in {*block.members} - members)
        if cost_s <= left_s:
            chosen.append(block)
            members |= {*block.members}
            left_s -= cost_s
    return chosen
