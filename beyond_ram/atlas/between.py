"""The steps between two locks, by library: the cost of an upgrade before it is made."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.version import InvalidVersion, Version

from ..analysis.changes import in_unit
from ..bisect.result import NAMES
from ..stacks.differences import canonical, pins
from ..stacks.locks import text_of
from ..text import first_of
from . import tables
from .steps import CONFIRMED, ONCE
from .tables import Line, is_false, strength
from .words import sentence

NEWEST = "newest"


@dataclass(frozen=True)
class Change:
    """A library whose version differs between two locks."""

    library: str
    before: str
    after: str
    steps: Sequence[Line]
    """Confirmed steps between the versions, largest first."""
    perhaps: Sequence[Line]
    """Confirmed steps that contain one of the two versions."""
    first: str
    """The oldest release that the atlas has run."""
    last: str
    likely: Sequence[Line] = ()
    """Steps between the versions that were seen once and not run again, if their interval excludes 1."""
    cells: Sequence[Line] = ()
    """Lines of table `cells` of its completed releases."""

    @property
    def is_back(self) -> bool:
        return Version(self.before) > Version(self.after)

    def whole_way(self, step: Line) -> tuple[Line, Line] | None:
        """The cells of a step's case at both locks: the newest release up to each lock that has run, else the oldest.

        A later step may revert an earlier one, which only the two ends show. None if a cell has no number.
        """
        own = [cell for cell in self.cells if cell["case"] == step["case"] and cell[step["metric"]]]
        if not own:
            return None
        own.sort(key=lambda cell: Version(cell["version"]))
        first, second = (
            [own[0], *(cell for cell in own if Version(cell["version"]) <= Version(end))][-1]
            for end in (self.before, self.after)
        )
        return first, second

    @property
    def covered(self) -> tuple[str, str] | None:
        """The oldest and newest release of the range that have run. None if these are less than two releases."""
        low, high = sorted(map(Version, (self.before, self.after)))
        run = sorted({cell["version"] for cell in self.cells if low <= Version(cell["version"]) <= high}, key=Version)
        return (run[0], run[-1]) if len(run) > 1 else None

    @property
    def uncovered(self) -> str:
        """The part of the range that the atlas has not run; empty if it has run all of it."""
        low, high = sorted((self.before, self.after), key=Version)
        parts = []
        if Version(low) < Version(self.first):
            parts.append(f"before {self.first}")
        if Version(high) > Version(self.last):
            parts.append(f"after {self.last}")
        return " and ".join(parts)


def lines(before: str, after: str, folder: Path) -> Iterator[str]:
    """The comparison of two locks, as lines of text. Raises ValueError, OSError."""
    cells, steps = (tables.read(folder / name) for name in (tables.CELLS, tables.STEPS))
    if not cells:
        raise ValueError(f"{folder}: holds no atlas; `beyond-ram atlas --out {folder}` makes one")
    old, new = _pins(before, cells), _pins(after, cells)
    every = changes(old, new, cells, steps)
    yield from _head(old, new, every, cells)
    for one in every:
        yield ""
        yield from _lines(one)


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
            own = [step for step in steps if step["library"] == library and _is_real(step)]
            ordered = sorted((cell["version"] for cell in completed), key=Version)
            once = [step for step in steps if step["library"] == library and _is_likely(step)]
            every.append(
                Change(
                    library,
                    first,
                    second,
                    *_between(own, first, second),
                    ordered[0],
                    ordered[-1],
                    _between(once, first, second)[0],
                    completed,
                )
            )
    return sorted(every, key=lambda one: (-max(map(strength, one.steps), default=-1.0), one.library))


def _is_real(step: Line) -> bool:
    return step["state"] == CONFIRMED and not is_false(step)


def _is_likely(step: Line) -> bool:
    """Whether a step that was not run again has an interval without 1, or is of an outcome or an answer."""
    if step["state"] != ONCE or is_false(step):
        return False
    return not step["ratio"] or float(step["low"]) > 1 or float(step["high"]) < 1


def _between(steps: Sequence[Line], first: str, second: str) -> tuple[list[Line], list[Line]]:
    """Steps between two versions, and steps that contain one of them."""
    low, high = sorted((Version(first), Version(second)))
    inside, perhaps = [], []
    for step in sorted(steps, key=strength, reverse=True):
        start, end = Version(step["from_version"]), Version(step["to_version"])
        if low <= start and end <= high:
            inside.append(step)
        elif start < high and low < end:
            perhaps.append(step)
    return inside, perhaps


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


def _head(
    old: Mapping[str, str], new: Mapping[str, str], every: Sequence[Change], cells: Sequence[Line]
) -> Iterator[str]:
    covered = {cell["library"] for cell in cells}
    count = sum(len(one.steps) for one in every)
    releases = {(one.library, step["from_version"], step["to_version"]) for one in every for step in one.steps}
    names = ", ".join(one.library for one in every) or "none"
    of = f", one case and metric each, in {len(releases)} {'change' if len(releases) == 1 else 'changes'} of release"
    yield f"{count} confirmed {'step' if count == 1 else 'steps'} between the two locks{of if count else ''}."
    yield f"Compared: {names}."
    if same := sorted(name for name in covered if old.get(name) and old.get(name) == new.get(name)):
        yield f"At the same version in both: {', '.join(same)}."
    others = sorted(name for name in old.keys() & new.keys() if old[name] != new[name] and name not in covered)
    if others:
        yield f"Changed, but not in the atlas: {first_of(others, 8)}."


def _whole_way(one: Change) -> Iterator[str]:
    """The values at both ends, for each case and metric with a step."""
    steps = {(step["case"], step["metric"]): step for step in one.steps if step["ratio"]}
    for (case, metric), step in steps.items():
        if ends := one.whole_way(step):
            old, new = (in_unit(metric, float(end[metric])) for end in ends)
            yield (
                f"  {ends[0]['version']} → {ends[1]['version']} in all, {case}: {NAMES[metric]}: {old} → {new}, "
                f"medians of {ends[0]['runs']} and {ends[1]['runs']} runs"
            )


def _oldest_first(steps: Sequence[Line]) -> list[Line]:
    """Steps in the order of releases, so that a fault is read before its correction."""
    return sorted(steps, key=lambda step: (Version(step["from_version"]), Version(step["to_version"])))


def _lines(one: Change) -> Iterator[str]:
    yield f"{one.library} {one.before} → {one.after}"
    if one.is_back:
        yield "  an older version: read each step from right to left"
    for kind, steps in (("", _oldest_first(one.steps)), ("perhaps, as a lock's version lies inside: ", one.perhaps)):
        by_pair: dict[tuple[str, str], list[Line]] = {}
        for step in steps:
            by_pair.setdefault((step["from_version"], step["to_version"]), []).append(step)
        for (first, second), own in by_pair.items():
            moved = f"; with {first_of(own[0]['moved'].split(', '), 3)}" if own[0]["moved"] else ""
            yield f"  {kind}{first} → {second} ({own[0]['to_date']}{moved})"
            yield from (f"    {step['case']}: {sentence(step)}" for step in own)
    yield from _whole_way(one)
    if not one.steps and not one.perhaps:
        if ends := one.covered:
            yield f"  no confirmed step in the cases that were run, {ends[0]} to {ends[1]}"
        else:
            yield "  no two releases of this range were run"
    for step in one.likely:
        pair = f"{step['from_version']} → {step['to_version']}"
        yield f"  only in the first pass, not run again: {pair} {step['case']}: {sentence(step)}"
    if one.uncovered:
        yield f"  not run, so unknown: releases {one.uncovered}"
