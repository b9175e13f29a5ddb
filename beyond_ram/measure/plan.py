"""What a campaign runs: members in blocks; and the policy that names the next blocks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

COMPLETED, NOT_INSTALLABLE = "completed", "not installable"
"""Outcomes of a run: it completed; its side cannot be built, so nothing ran."""


@dataclass(frozen=True, order=True)
class Member:
    """A case (a script, a cell) and a side of it (a lock, a release)."""

    case: str
    side: str


@dataclass(frozen=True)
class Block:
    """Members that run directly after one another, in this order. A call that goes on makes a cut block again."""

    name: str
    members: tuple[Member, ...]
    must: bool = False
    """Whether it is run although it may not fit into the budget."""
    ask_again: bool = False
    """Whether the policy is asked again after it, so that what it names behind this block is for a smaller budget."""


@dataclass(frozen=True)
class Run:
    """One run of a member."""

    member: Member
    number: int
    """From 1, for each member."""
    block: str
    outcome: str
    reason: str = ""
    answer: str | None = None
    """The hash of what it printed and wrote; None if unknown."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Its metrics, if it finished its work; of a gate also whether it failed. NaN: it should have it, and has not."""
    started_at: float = 0.0
    ended_at: float = 0.0
    folder: str = ""
    """Its folder below the campaign's."""


class Policy(Protocol):
    """Who runs next. It knows no clock, file or terminal, so that whole campaigns can be simulated as shipped."""

    def next(self, runs: Sequence[Run]) -> Sequence[Block]:
        """The next blocks, the most wanted first; none once the answer is known. It depends on the runs alone."""


class WantedError(Exception):
    """A block that a search needs next: how one is written as straight code, and replayed over the runs so far."""

    def __init__(self, block: Block) -> None:
        super().__init__(block.name)
        self.block = block
