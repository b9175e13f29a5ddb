"""The two stacks of a gate: a base stack with each side's requirements in place of the packages that they name."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ..stacks import StackError, build, exchange, moved, pins, reason
from .wheels import Requirement

BASELINE, CANDIDATE = "baseline", "candidate"
SIDES = (BASELINE, CANDIDATE)


@dataclass(frozen=True)
class Side:
    """A base stack as one side has it."""

    stack: str
    """Its name in runs and tables."""
    lock: Path
    python: str
    moved: str | None
    """What had to move beside what was asked for."""


def name_of(base: str, side: str) -> str:
    """The stack's name in runs and tables."""
    return f"{base}.{side}"


def made(base: str, side: str, asked: Sequence[Requirement], out: Path, envs: Path) -> Side:
    """Lock and build one side of a base stack, below `out`. Raises StackError with the resolver's or uv's reason."""
    stack = name_of(base, side)
    lock, folder = out / "locks" / f"{stack}.txt", out / "stacks" / stack
    exchange(base, {one.package: one.line for one in asked}, envs, lock)
    if why := reason(lock):
        raise StackError(f"{side} on {base}: cannot be installed: {why}")
    marker = folder / "beyond-ram.lock"
    if not marker.is_file() or marker.read_bytes() != lock.read_bytes():
        build(lock, folder)
    return Side(stack, lock, str(folder / "bin" / "python"), moved(lock))


def both(
    bases: Sequence[str], asked: Mapping[str, Sequence[Requirement]], out: Path, envs: Path
) -> dict[tuple[str, str], Side]:
    """Both sides of every base stack, by the two names. Raises StackError for the first that cannot be."""
    wanted = [(base, side) for base in bases for side in SIDES]
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(lambda one: made(one[0], one[1], asked[one[1]], out, envs), wanted)
        return dict(zip(wanted, found, strict=True))


def apart(before: Side, after: Side, asked: Sequence[Requirement]) -> str:
    """What differs between two sides beside what was asked for, as `NAME VERSION to VERSION, …`."""
    old, new = (pins(side.lock.read_text(encoding="utf-8")) for side in (before, after))
    own = {one.package for one in asked}
    named = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name) and name not in own)
    return ", ".join(f"{name} {old.get(name, 'none')} to {new.get(name, 'none')}" for name in named)
