"""The comparison of two locks, as lines of text."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from packaging.version import Version

from ..analysis.changes import in_unit
from ..bisect.result import NAMES
from ..text import first_of, in_columns
from .between import CaseChange, Change, LockComparison
from .tables import Line
from .words import times, values

_MORE, _LESS, _OTHER, _PARTLY, _ONCE = "▲", "▼", "●", "~", "?"
_ALSO = "also changed"
_EXPLAINED = {
    "atlas": "measurements of releases that come with this command",
    "case": "a small program that ran with every release; other packages changed only where a release needs it",
    "step": "a change of one number between two releases; its date is the later release's",
    "in all": "medians of the runs with the first and last of these releases; without a step, perhaps noise",
    "heap": "anonymous memory, with all buffers: the kernel can only swap it; at the end of the case, or its peak",
    "times": "new value divided by old, with its 95 % interval; n is the number of runs with each release",
    _MORE: "more, confirmed by new runs",
    _LESS: "less, confirmed in the same way",
    _OTHER: "another outcome or answer, confirmed in the same way",
    _PARTLY: "confirmed, but one of your versions lies between these releases, so you may not have this step",
    _ONCE: "in the first runs only, which were not repeated",
    _ALSO: "packages that the later release needs in other versions: one of them may be the cause",
}
_SIGNS = {_MORE, _LESS, _OTHER, _PARTLY, _ONCE, _ALSO}
_MOST_MOVED, _MOST_NAMED = 3, 20


def lines(compared: LockComparison) -> Iterator[str]:
    """The whole comparison: a block for each library, and for each case with a step; then the legend."""
    cases = [case for change in compared.changes for case in change.cases]
    yield f"From {compared.before} to {compared.after}"
    yield from _head(compared, cases)
    for change in compared.changes:
        yield ""
        yield from _change(change)
    yield ""
    if compared.same:
        yield f"At the same version in both: {', '.join(compared.same)}."
    if compared.others:
        yield f"At other versions, but not in the atlas: {first_of(compared.others, _MOST_NAMED)}."
    for lock, names in compared.only.items():
        yield f"Only in {lock}: {first_of(names, _MOST_NAMED)}."
    yield ""
    yield from _legend(cases)


def _head(compared: LockComparison, cases: Sequence[CaseChange]) -> Iterator[str]:
    """Count the changed libraries, those that ran, and the confirmed steps."""
    measured = sum(bool(change.cases or change.unchanged) for change in compared.changes)
    changed = _count(len(compared.changes), "library", "libraries")
    yield f"{changed} of the atlas changed; {measured} ran with more than one release in between."
    if count := sum(len(case.steps) for case in cases):
        libraries = sum(bool(change.steps) for change in compared.changes)
        yield (
            f"{_count(count, 'confirmed step')} in {_count(sum(bool(case.steps) for case in cases), 'case')} of "
            f"{_count(libraries, 'library', 'libraries')}."
        )
    elif measured:
        yield "No confirmed step in what ran."
    elif compared.changes:
        yield "Nothing was measured between these locks."


def _count(number: int, one: str, several: str = "") -> str:
    return f"{number} {one if number == 1 else several or one + 's'}"


def _change(change: Change) -> Iterator[str]:
    yield f"{change.library} {change.before} → {change.after}"
    if not change.cases and not change.unchanged:
        yield f"  Nothing was measured between these releases. The atlas has {change.ran[0]} to {change.ran[1]}."
        return
    for first, last in change.not_run:
        yield f"  Nothing was measured between {first} and {last}."
    for case in change.cases:
        yield ""
        yield from _case(case)
    if change.cases and change.unchanged:
        yield ""
    for (first, last), names in change.unchanged.items():
        yield f"  No confirmed step from {first} to {last}: {', '.join(names)}"


def _case(case: CaseChange) -> Iterator[str]:
    yield f"  {case.name}" + (f": {case.title}" if case.title else "")
    for versions, metrics in groupby(case.ends, lambda metric: tuple(end["version"] for end in case.ends[metric])):
        yield f"    {' → '.join(versions)} in all"
        rows = [_end(metric, *case.ends[metric]) for metric in metrics]
        yield from (f"      {row}" for row in in_columns(rows, left=3))
    yield "    step by step"
    signed = _signed(case)
    rows = [_row(sign, step) for sign, step in signed]
    shown = zip(signed, in_columns(rows, left=len(rows[0])), strict=True)
    for (_, moved), of_pair in groupby(shown, lambda one: (_pair(one[0][1]), one[0][1]["moved"])):
        yield from (f"      {row}" for _, row in of_pair)
        if moved:
            yield f"         {_ALSO}: {first_of(moved.split(', '), _MOST_MOVED)}"


def _signed(case: CaseChange) -> list[tuple[str, Line]]:
    """The steps of a case with their signs, in the order from one lock to the other."""
    kinds = ((case.steps, ""), (case.partly, _PARTLY), (case.unrepeated, _ONCE))
    signed = [(sign or _direction(step), step) for steps, sign in kinds for step in steps]
    first, last = (Version(signed[0][1][f"{side}_version"]) for side in ("from", "to"))
    return sorted(signed, key=lambda one: Version(one[1]["from_version"]), reverse=first > last)


def _direction(step: Line) -> str:
    if not step["ratio"]:
        return _OTHER
    return _MORE if float(step["ratio"]) > 1 else _LESS


def _pair(step: Line) -> str:
    return f"{step['from_version']} → {step['to_version']}"


def _end(metric: str, first: Line, second: Line) -> Sequence[str]:
    old, new = (float(end[metric]) for end in (first, second))
    ratio = f"{new / old:.3g} times" if old else ""
    return NAMES[metric], f"{in_unit(metric, old)} → {in_unit(metric, new)}", ratio


def _row(sign: str, step: Line) -> Sequence[str]:
    return (sign, _pair(step), step["to_date"], NAMES[step["metric"]], " → ".join(values(step)), times(step),
            f"n = {step['n']}")  # fmt: skip


def _legend(cases: Sequence[CaseChange]) -> Iterator[str]:
    """The words, and the signs of these cases."""
    signed = [one for case in cases for one in _signed(case)]
    used = {sign for sign, _ in signed} | {_ALSO for _, step in signed if step["moved"]}
    yield "Words and signs"
    words = _EXPLAINED if cases else {"atlas": _EXPLAINED["atlas"]}
    rows = [(f"  {word}", text) for word, text in words.items() if word not in _SIGNS - used]
    yield from in_columns(rows, left=2)
