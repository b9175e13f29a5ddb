"""The steps between two locks: the cost of an upgrade before it is made."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from packaging.utils import canonicalize_name as canonical
from packaging.version import InvalidVersion, Version

from ..analysis.changes import in_unit
from ..measure.screen import ANSWER, OUTCOME
from ..measure.searched import NAMES, shortened
from ..stacks.differences import pins
from ..stacks.locks import text_of
from ..text import first_of, in_columns
from . import tables
from .tables import AtlasLine, strength

NEWEST = "newest"
_MOST_MOVED, _MOST_NAMED = 3, 20
_PARTLY = "one of your versions lies between"


@dataclass(frozen=True)
class Change:
    """A library whose version differs between two locks."""

    library: str
    before: str
    after: str
    ran: Sequence[str]
    """The releases that the atlas has run, oldest first."""
    cases: Mapping[str, Sequence[AtlasLine]]
    """By case that has some, the confirmed steps between the versions, or around one of them, oldest first."""
    unchanged: Sequence[str]
    """Cases that ran with several releases between the versions, and have no step."""

    @property
    def bounds(self) -> tuple[Version, Version]:
        low, high = sorted(map(Version, (self.before, self.after)))
        return low, high

    @property
    def not_run(self) -> list[str]:
        """The parts of the range that the atlas has not run."""
        ends = [*sorted((self.before, self.after), key=Version), self.ran[0], self.ran[-1]]
        parts = [(ends[0], ends[2]), (ends[3], ends[1])]
        return [f"{first} and {last}" for first, last in parts if Version(first) < Version(last)]

    @property
    def largest(self) -> float:
        return max([strength(step) for steps in self.cases.values() for step in steps], default=-1.0)

    def is_inside(self, step: AtlasLine) -> bool:
        """Whether both versions of a step lie between the two."""
        low, high = self.bounds
        return all(low <= Version(step[f"{side}_version"]) <= high for side in ("from", "to"))


@dataclass(frozen=True)
class LockComparison:
    """Two locks, compared."""

    before: str
    after: str
    changes: Sequence[Change]
    """Those with the largest steps come first."""
    others: Sequence[str]
    """Packages at other versions that the atlas does not have, as `NAME VERSION → VERSION`."""


def compare(before: str, after: str, folder: Path) -> LockComparison:
    """Compare two locks by the atlas in a folder. Raises ValueError, OSError."""
    cells, steps = (tables.read(folder / name) for name in (tables.CELLS, tables.STEPS))
    if not cells:
        raise ValueError(f"{folder}: holds no atlas; `beyond-ram atlas --out {folder}` makes one")
    old, new = _pins(before, cells), _pins(after, cells)
    covered = {cell["library"] for cell in cells}
    both = sorted(old.keys() & new.keys())
    return LockComparison(
        before, after, changes(old, new, cells, steps),
        [f"{name} {old[name]} → {new[name]}" for name in both if name not in covered and old[name] != new[name]],
    )  # fmt: skip


def changes(
    old: Mapping[str, str], new: Mapping[str, str], cells: Sequence[AtlasLine], steps: Sequence[AtlasLine]
) -> list[Change]:
    """The libraries of the atlas that the two locks pin in different versions."""
    run: dict[str, list[AtlasLine]] = {}
    for cell in _completed(cells):
        run.setdefault(cell["library"], []).append(cell)
    every = [
        _change(library, old[library], new[library], completed, [one for one in steps if one["library"] == library])
        for library, completed in run.items()
        if old.get(library) and new.get(library) and old[library] != new[library]
    ]
    return sorted(every, key=lambda one: (-one.largest, not one.unchanged, one.library))


def _completed(cells: Sequence[AtlasLine]) -> list[AtlasLine]:
    """The cells of releases that have run, oldest first."""
    completed = [cell for cell in cells if cell["date"] and cell["outcome"] == "completed"]
    return sorted(completed, key=lambda cell: Version(cell["version"]))


def _change(library: str, before: str, after: str, cells: Sequence[AtlasLine], steps: Sequence[AtlasLine]) -> Change:
    low, high = sorted(map(Version, (before, after)))
    between = [one for one in steps if Version(one["from_version"]) < high and Version(one["to_version"]) > low]
    between.sort(key=lambda step: (Version(step["from_version"]), Version(step["to_version"])))
    names = dict.fromkeys(cell["case"] for cell in cells)
    cases = {name: own for name in names if (own := [step for step in between if step["case"] == name])}
    several = [name for name in names if name not in cases and sum(
        low <= Version(cell["version"]) <= high for cell in cells if cell["case"] == name) > 1]  # fmt: skip
    ran = list(dict.fromkeys(cell["version"] for cell in cells))
    cases = dict(sorted(cases.items(), key=lambda one: (-max(map(strength, one[1])), one[0])))
    return Change(library, before, after, ran, cases, several)


def _pins(lock: str, cells: Sequence[AtlasLine]) -> dict[str, str]:
    """The versions of a lock. For `newest`, the newest release of each library that the atlas has run."""
    if lock == NEWEST:
        return {cell["library"]: cell["version"] for cell in _completed(cells)}
    if not Path(lock).is_file():
        raise ValueError(f"there is no file {lock}; name a lock, or `{NEWEST}`")
    versions = pins(text_of(Path(lock)))
    if not versions:
        raise ValueError(f"{lock}: no line NAME==VERSION, so it is no lock")
    return {canonical(name): version for name, version in versions.items() if _is_version(version)}


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


def lines(compared: LockComparison) -> Iterator[str]:
    """The whole comparison: a block for each library, and in it for each case with a step."""
    yield f"From {compared.before} to {compared.after}"
    steps = sum(len(own) for change in compared.changes for own in change.cases.values())
    yield f"Libraries of the atlas that changed: {len(compared.changes)}; confirmed steps: {steps}."
    for change in compared.changes:
        yield ""
        yield f"{change.library} {change.before} → {change.after}"
        if change.cases and Version(change.before) > Version(change.after):
            yield "  The second is older: each step goes the other way."
        yield from (f"  Nothing was measured between {part}." for part in change.not_run)
        for case in change.cases:
            yield from _case(change, case)
        if change.unchanged:
            yield f"  No confirmed step: {', '.join(change.unchanged)}"
    if compared.others:
        yield ""
        yield f"At other versions, but not in the atlas: {first_of(compared.others, _MOST_NAMED)}."


def _case(change: Change, case: str) -> Iterator[str]:
    yield f"  {case}"
    steps = change.cases[case]
    rows = [[f"{one['from_version']} → {one['to_version']}", one["to_date"], NAMES[one["metric"]], _values(one),
             _times(one), f"n = {one['n']}", "" if change.is_inside(one) else _PARTLY] for one in steps]  # fmt: skip
    shown = zip(steps, in_columns(rows, left=len(rows[0])), strict=True)
    for moved, of_pair in groupby(shown, lambda one: one[0]["moved"]):
        yield from (f"    {row}" for _, row in of_pair)
        if moved:
            yield f"      also changed: {first_of(moved.split(', '), _MOST_MOVED)}"


def _values(step: AtlasLine) -> str:
    """Both values of a step. Of an answer, the start of its hash."""
    values = [str(step[f"{side}_value"]) for side in ("from", "to")]
    if step["metric"] not in (OUTCOME, ANSWER):
        values = [in_unit(step["metric"], float(value)) for value in values]
    return " → ".join(map(shortened, values))


def _times(step: AtlasLine) -> str:
    """The ratio of a step with its interval."""
    ratio, low, high = (float(step[name] or "nan") for name in ("ratio", "low", "high"))
    return f"{ratio:.3g} times ({low:.3g} to {high:.3g})" if step["ratio"] else ""
