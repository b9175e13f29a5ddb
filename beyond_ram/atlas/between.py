"""The steps between two locks: the cost of an upgrade before it is made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from ..stacks.differences import canonical, pins
from ..stacks.locks import text_of
from . import tables
from .tables import CONFIRMED, ONCE, Line, strength

NEWEST = "newest"


@dataclass(frozen=True)
class CaseChange:
    """A case with steps between two versions of its library."""

    name: str
    title: str
    steps: Sequence[Line]
    """Confirmed steps between the versions."""
    partly: Sequence[Line]
    """Confirmed steps that contain one of the two versions."""
    unrepeated: Sequence[Line]
    """Steps between the versions that were seen once and not run again, if their interval excludes 1."""
    ends: Mapping[str, tuple[Line, Line]]
    """By metric with a step, the cells at both versions: the newest release up to each that has run, else the oldest.

    A later step may revert an earlier one, which only the two ends show."""


@dataclass(frozen=True)
class Change:
    """A library whose version differs between two locks. Its steps go from `before` to `after`."""

    library: str
    before: str
    after: str
    cases: Sequence[CaseChange]
    """Those with the largest confirmed steps come first."""
    unchanged: Mapping[tuple[str, str], Sequence[str]]
    """By the first and last release of the range that they ran with: cases without a step."""
    ran: tuple[str, str]
    """The oldest and newest release that the atlas has run."""

    @property
    def not_run(self) -> list[tuple[str, str]]:
        """The parts of the range that the atlas has not run."""
        low, high = sorted((self.before, self.after), key=Version)
        parts = [(low, self.ran[0]), (self.ran[1], high)]
        return [(first, last) for first, last in parts if Version(first) < Version(last)]

    @property
    def steps(self) -> list[Line]:
        return [step for case in self.cases for step in case.steps]


@dataclass(frozen=True)
class LockComparison:
    """Two locks, compared."""

    before: str
    after: str
    changes: Sequence[Change]
    same: Sequence[str]
    """Libraries of the atlas at the same version in both."""
    others: Sequence[str]
    """Packages at other versions that the atlas does not have, as `NAME VERSION → VERSION`."""
    only: Mapping[str, Sequence[str]]
    """By lock, the packages that only this one has."""


def compare(before: str, after: str, folder: Path) -> LockComparison:
    """Compare two locks by the atlas in a folder. Raises ValueError, OSError."""
    cells, steps = (tables.read(folder / name) for name in (tables.CELLS, tables.STEPS))
    if not cells:
        raise ValueError(f"{folder}: holds no atlas; `beyond-ram atlas --out {folder}` makes one")
    old, new = _pins(before, cells), _pins(after, cells)
    covered = {cell["library"] for cell in cells}
    both = sorted(old.keys() & new.keys())
    # `newest` has the libraries of the atlas only, so what it lacks means nothing.
    only = {} if NEWEST in (before, after) else {before: sorted(old.keys() - new), after: sorted(new.keys() - old)}
    return LockComparison(
        before, after, changes(old, new, cells, steps),
        [name for name in both if name in covered and old[name] == new[name]],
        [f"{name} {old[name]} → {new[name]}" for name in both if name not in covered and old[name] != new[name]],
        {lock: names for lock, names in only.items() if names},
    )  # fmt: skip


def changes(
    old: Mapping[str, str], new: Mapping[str, str], cells: Sequence[Line], steps: Sequence[Line]
) -> list[Change]:
    """The libraries of the atlas that the two locks pin in different versions. Those with the largest steps come
    first."""
    run: dict[str, list[Line]] = {}
    for cell in cells:
        if cell["date"] and cell["outcome"] == "completed":
            run.setdefault(cell["library"], []).append(cell)
    every = []
    for library, completed in run.items():
        first, second = old.get(library), new.get(library)
        if first and second and first != second:
            own = [step for step in steps if step["library"] == library]
            every.append(_change(library, first, second, completed, own))
    return sorted(every, key=lambda one: (_largest(one.steps), not one.cases, not one.unchanged, one.library))


def _largest(steps: Sequence[Line]) -> float:
    """A key that sorts the largest steps first, and what has none last."""
    return -max(map(strength, steps), default=-1.0)


def _change(library: str, before: str, after: str, cells: Sequence[Line], steps: Sequence[Line]) -> Change:
    inside, partly = _between([step for step in steps if step["state"] == CONFIRMED], before, after)
    unrepeated, _ = _between([step for step in steps if _is_likely(step)], before, after)
    by_case: dict[str, list[Line]] = {}
    for cell in sorted(cells, key=lambda cell: Version(cell["version"])):
        by_case.setdefault(cell["case"], []).append(cell)
    cases, unchanged = [], dict[tuple[str, str], list[str]]()
    for name, own in by_case.items():
        kinds = [[step for step in kind if step["case"] == name] for kind in (inside, partly, unrepeated)]
        low, high = sorted(map(Version, (before, after)))
        in_range = [cell["version"] for cell in own if low <= Version(cell["version"]) <= high]
        if any(kinds):
            metrics = dict.fromkeys(step["metric"] for kind in kinds for step in kind if step["ratio"])
            pairs = {metric: _ends(own, metric, before, after) for metric in metrics}
            ends = {metric: pair for metric, pair in pairs.items() if pair}
            cases.append(CaseChange(name, own[0]["title"], kinds[0], kinds[1], kinds[2], ends))
        elif len(in_range) > 1:
            unchanged.setdefault((in_range[0], in_range[-1]), []).append(name)
    versions = sorted((cell["version"] for cell in cells), key=Version)
    cases.sort(key=lambda one: (_largest(one.steps), one.name))
    return Change(library, before, after, cases, unchanged, (versions[0], versions[-1]))


def _ends(cells: Sequence[Line], metric: str, before: str, after: str) -> tuple[Line, Line] | None:
    """The cells of a case at both versions. None if these are not two."""
    having = [cell for cell in cells if cell[metric]]
    if not having:
        return None
    first, second = (
        [having[0], *(cell for cell in having if Version(cell["version"]) <= Version(end))][-1]
        for end in (before, after)
    )
    return (first, second) if first is not second else None


def _is_likely(step: Line) -> bool:
    """Whether a step that was not run again has an interval without 1, or is of an outcome or an answer."""
    if step["state"] != ONCE:
        return False
    return not step["ratio"] or float(step["low"]) > 1 or float(step["high"]) < 1


def _between(steps: Sequence[Line], before: str, after: str) -> tuple[list[Line], list[Line]]:
    """Steps between two versions, and steps that contain one of them, in the order from `before` to `after`."""
    low, high = sorted((Version(before), Version(after)))
    inside, partly = [], []
    for step in sorted(steps, key=lambda step: (Version(step["from_version"]), Version(step["to_version"]))):
        start, end = Version(step["from_version"]), Version(step["to_version"])
        if low <= start and end <= high:
            inside.append(step)
        elif start < high and low < end:
            partly.append(step)
    if Version(before) < Version(after):
        return inside, partly
    return [_turned(step) for step in reversed(inside)], [_turned(step) for step in reversed(partly)]


def _turned(step: Line) -> Line:
    """A step from the later to the earlier release."""
    sides = {f"{one}_{what}": step[f"{other}_{what}"] for what in ("version", "value")
             for one, other in (("from", "to"), ("to", "from"))}  # fmt: skip
    ratios = {"ratio": _inverse(step["ratio"]), "low": _inverse(step["high"]), "high": _inverse(step["low"])}
    parts = (part.split(" ") for part in step["moved"].split(", ") if part)
    moved = ", ".join(f"{name} {second} to {first}" for name, first, _, second in parts)
    return {**step, **sides, **ratios, "moved": moved}


def _inverse(ratio: str) -> str:
    return repr(1 / float(ratio)) if ratio and float(ratio) else ""


def _pins(lock: str, cells: Sequence[Line]) -> dict[str, str]:
    """The versions of a lock. For `newest`, the newest release of each library that the atlas has run."""
    if lock != NEWEST:
        versions = pins(text_of(_file(lock)))
        if not versions:
            raise ValueError(f"{lock}: no line NAME==VERSION, so it is no lock")
        return {canonical(name): version for name, version in versions.items() if _is_version(version)}
    newest: dict[str, str] = {}
    for cell in cells:
        if cell["date"] and cell["outcome"] == "completed":
            newest[cell["library"]] = max(cell["version"], newest.get(cell["library"], "0"), key=Version)
    return newest


def _file(lock: str) -> Path:
    path = Path(lock)
    if not path.is_file():
        raise ValueError(f"there is no file {lock}; name a lock, or `{NEWEST}`")
    return path


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True
