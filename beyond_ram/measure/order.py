"""Blocks of compared things, and the order of a round."""

import random
from collections.abc import Hashable, Sequence
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
