"""The two stacks of a gate: a base stack with the requirements of each side."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ..measure.gate import BASELINE, SIDES
from ..stacks import differences
from ..stacks.differences import pins
from ..stacks.locks import StackError, lacks, text_of
from ..stacks.scripts import moved
from ..stacks.variants import exchange, reason
from ..stacks.venv import build
from .wheels import Requirement

Requirements = Mapping[str, Sequence[Requirement]]
"""The requirements of each side."""


@dataclass(frozen=True)
class BuiltSide:
    """A base stack as one side has it."""

    stack: str
    """Its name in runs and tables."""
    lock: Path
    python: str
    moved_packages: str | None
    """Other packages that moved: of the baseline from the base stack, of the candidate from the baseline."""


def name_of(base: str, side: str) -> str:
    """The stack's name in runs and tables."""
    return f"{base}.{side}"


def locked(
    base: str, side: str, requirements: Requirements, out: Path, envs: Path, *, exact: bool = False
) -> BuiltSide:
    """Lock one side of a base stack, below `out`, unless an earlier call has; the candidate from the baseline's lock.

    So nothing differs between the sides but what was asked for, and what that makes move. `exact` as in `exchange`.
    Raises StackError with the resolver's reason, or where the lock does not have what was asked for.
    """
    stack = name_of(base, side)
    lock = out / "locks" / f"{stack}.txt"
    like = (out / "locks" / f"{name_of(base, BASELINE)}.txt", [one.package for one in requirements[BASELINE]])
    if not lock.exists():
        lines = {one.package: one.line for one in requirements[side]}
        exchange(base, lines, envs, lock, None if side == BASELINE else like, exact=exact)
    if why := reason(lock):
        raise StackError(f"{side} on {base}: cannot be installed: {why}")
    for one in requirements[side]:
        if difference := lacks(lock, one.line):
            raise StackError(f"{side} on {base}: {one.text} was asked for, and {difference}")
    return BuiltSide(stack, lock, str(out / "stacks" / stack / "bin" / "python"), moved(lock))


def both(
    bases: Sequence[str], requirements: Requirements, out: Path, envs: Path, *, exact: bool = False
) -> dict[tuple[str, str], BuiltSide]:
    """Both sides of every base stack, built, by the two names. Raises StackError for the first that cannot be."""

    def made(base: str) -> list[BuiltSide]:
        sides = [locked(base, side, requirements, out, envs, exact=exact) for side in SIDES]
        for one in sides:
            build(one.lock, out / "stacks" / one.stack)
        return sides

    with ThreadPoolExecutor(2) as pool:
        of_bases = zip(bases, pool.map(made, bases), strict=True)
        return {(base, side): one for base, sides in of_bases for side, one in zip(SIDES, sides, strict=True)}


def other_differences(before: BuiltSide, after: BuiltSide, requirements: Sequence[Requirement]) -> str:
    """Other differences between two sides, as `NAME VERSION to VERSION, …`."""
    old, new = (pins(text_of(side.lock)) for side in (before, after))
    return differences.changed_pins(old, new, {one.package for one in requirements})
