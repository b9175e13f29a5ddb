"""Table `verdicts`: the cause of each cell's memory growth. docs/explain.md has the rules.

The rules are tested on programs with a planted owner (tests/analysis). If the evidence is too weak, the cause is
`undecided`, with what would decide it.
"""

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
import pandas as pd

from ..experiment import Cell
from ..metrics import Events, Record
from ..units import MB
from .decide import middle
from .outcomes import by_cell
from .owners import RESIDUE, readings, steps
from .regrowth import Regrowth, Slope, epoch_input_bytes, fit, over
from .results import FEW
from .thresholds import GROWN_BYTES, GROWN_SHARE

# The share of the growth that a cause must explain; below it the cause is undecided.
CARRIES = 2 / 3
# A second owner is named from the share NAMED on. An owner counts from the share _COUNTED on.
NAMED, _COUNTED = 0.2, 0.05
UNUSED = ("arrow pool, unused", "allocator, unused")
# A Python object takes 16 bytes and more.
_BLOCK_BYTES = 16
COLUMNS = [
    "experiment",
    "stack",
    "verdict",
    "owner",
    "sentence",
    "evidence",
    "anon_grown_bytes",
    "anon_grown_bytes_low",
    "anon_grown_bytes_high",
    "imported_anon_bytes",
    "run",
    "n",
]

Kind = Literal["flat", "page-cache", "retained", "held", "leak", "undecided"]
Run = tuple[Record, Events]


@dataclass(frozen=True)
class Number:
    """A number in a sentence, with its format."""

    value: float
    form: str

    def of(self, others: Sequence["Number"]) -> str:
        """The median of this number over all repeats, with the range."""
        values = [other.value for other in others]
        median = self.form.format(float(np.median(values)))
        low, high = (self.form.format(end) for end in (min(values), max(values)))
        return median if low == high else f"{median} ({low} to {high})"


Words = tuple[str | Number, ...]


def mb(value: float, sign: str = "") -> Number:
    """A size in MB."""
    return Number(value / MB, f"{{:{sign},.0f}} MB")


def percent(value: float) -> Number:
    """A share of the growth as a percentage, at most 100 %. Later garbage can push the measured share above that."""
    return Number(min(value, 1), "{:.0%}")


def sentence_of(repeats: Sequence[Words]) -> str:
    """Merge sentences that have the same words. Each number becomes the median, with the range."""
    parts = []
    for place in zip(*repeats, strict=True):
        first = place[0]
        parts.append(first if isinstance(first, str) else first.of([cast(Number, number) for number in place]))
    return "".join(parts)


def _frame(words: Words) -> Hashable:
    """The words of a sentence without its numbers: sentences with the same frame can be merged."""
    return tuple(word if isinstance(word, str) else None for word in words)


@dataclass(frozen=True)
class Cause:
    """The cause of one run's growth."""

    verdict: Kind
    words: Words
    owners: tuple[str, ...] = ()
    evidence: str = ""


@dataclass(frozen=True)
class Judged:
    """The cause of a cell's growth, over all repeats that finished their work."""

    verdict: Kind
    owner: str
    sentence: str
    evidence: str


def undecided(*words: str | Number) -> Cause:
    """An undecided cause, with what would decide it."""
    return Cause("undecided", words)


def verdicts(records: Sequence[Run]) -> pd.DataFrame:
    """One line per cell, over its `n` repeats that finished their work. If repeats disagree, the cause is undecided."""
    torn_down = (
        (record, place)
        for place, (record, events) in enumerate(records)
        if record["completed_work"] and len(readings(events, "released")) > 1 and readings(events, "imported")
    )
    # Load the runs of one cell at a time: ten thousand runs take a gigabyte.
    lines = [cell | _line([records[place] for place in places]) for cell, places in by_cell(torn_down)]
    return pd.DataFrame(lines, columns=None if lines else COLUMNS)


def _line(runs: Sequence[Run]) -> dict[str, Any]:
    return {**vars(judge(runs)), **_growth(runs), "run": _path(runs), "n": len(runs)}


def _growth(runs: Sequence[Run]) -> dict[str, float]:
    """Growth of anonymous memory: median of the repeats, and interval of their mean. Also the memory after the
    imports."""
    grown = [float(steps(record, events)[0]["anon_grown_bytes"]) for record, events in runs]
    begun = [readings(events, "imported")[-1]["tree"]["anon_bytes"] for _, events in runs]
    ends = middle(grown)
    return {
        "anon_grown_bytes": float(np.median(grown)),
        "anon_grown_bytes_low": ends.low,
        "anon_grown_bytes_high": ends.high,
        "imported_anon_bytes": float(np.median(begun)),
    }


def _path(runs: Sequence[Run]) -> str:
    """The folder of the first run. A command can repeat this run alone."""
    cell = runs[0][0]["cell"]
    axes = tuple((axis, value) for axis, value in cell.items() if axis not in ("experiment", "rep"))
    return Cell(cell["experiment"], axes, cell["rep"]).path


def judge(runs: Sequence[Run]) -> Judged:
    """The cause of a cell's growth from its repeats. Growth per epoch is decided over all repeats together."""
    slopes = [fit(events) for _, events in runs]
    again = over(slopes, epoch_input_bytes(*runs[0]))
    causes = [_judge(*run, slope, again) for run, slope in zip(runs, slopes, strict=True)]
    common = tuple(owner for owner in causes[0].owners if all(owner in one.owners for one in causes))
    if common and any(one.owners != common for one in causes):
        causes = [_judge(*run, slope, again, common) for run, slope in zip(runs, slopes, strict=True)]
    repeats = f" ({len(runs)} runs; medians)" if len(runs) > 1 else " (one run)"
    numbers = zip((record["cell"].get("rep", 1) for record, _ in runs), causes, strict=True)
    evidence = " / ".join(f"repeat {rep}: {one.evidence}" if len(runs) > 1 else one.evidence for rep, one in numbers)
    kinds = {one.verdict for one in causes}
    if len(kinds) > 1 or (causes[0].owners and not common):
        each = "; ".join(f"{one.verdict}: {sentence_of([one.words])}" for one in causes)
        what = ", ".join(sorted(kinds)) if len(kinds) > 1 else "who held it"
        return Judged("undecided", "", f"Repeats disagree ({what}). More repeats would decide.", f"{each} / {evidence}")
    if len({_frame(one.words) for one in causes}) > 1:
        different = " ".join(dict.fromkeys(sentence_of([one.words]) for one in causes))
        return Judged(causes[0].verdict, " and ".join(common), f"{different}{repeats}", evidence)
    sentence = sentence_of([one.words for one in causes]).removesuffix(".")
    return Judged(causes[0].verdict, " and ".join(common), f"{sentence}{repeats}.", evidence)


def _judge(record: Record, events: Events, own: Slope, again: Regrowth, named: tuple[str, ...] = ()) -> Cause:
    """The cause of one run's growth, from its teardown. If `named` is set, only these owners are named."""
    imported, full = readings(events, "imported")[-1], readings(events, "released")[0]
    anon = full["tree"]["anon_bytes"] - imported["tree"]["anon_bytes"]
    file = full["tree"]["file_bytes"] - imported["tree"]["file_bytes"]
    bytes_in = float(record["work"].get("bytes_in", 0))
    small = max(GROWN_BYTES, GROWN_SHARE * bytes_in)
    over_input = f"over {bytes_in / MB:,.0f} MB of input" if bytes_in else "over the work"
    evidence = f"before the teardown anonymous {anon / MB:+,.0f} MB, file {file / MB:+,.0f} MB {over_input}"
    if not math.isnan(again.slope_bytes):
        slope = own.slope_bytes
        evidence += "" if slope is None else f"; {slope / MB:+,.1f} MB an epoch in the later ones"
        evidence += f" (over {again.n} runs: {_shape(again)})" if again.n > 1 else " (one run: undecided)"
    if anon < small:
        cause = _cause_of_small_growth(anon, file, over_input, small, events, again)
    else:
        cause = _cause_of_large_growth(record, events, anon, over_input, small, again, named)
    return replace(cause, evidence=evidence + cause.evidence)


def _shape(again: Regrowth) -> str:
    return f"{again.shape}: {again.reason}" if again.reason else again.shape


def _cause_of_small_growth(
    anon: float, file: float, over_input: str, small: float, events: Events, again: Regrowth
) -> Cause:
    """The cause of growth below the threshold."""
    at_end, ended = _ended_before_teardown(events)
    more = at_end - readings(events, "imported")[-1]["tree"]["anon_bytes"]
    if ended > 0 and more >= small:
        grew = " more anonymous memory at the end of the work than after the imports, but "
        why = " processes ended before the teardown. The same work in one process would show who holds it."
        return undecided(mb(more), grew, Number(ended, "{:,.0f}"), why)
    if again.shape == "grows":
        return undecided("Memory grew by only ", mb(anon), ", but in every epoch. More epochs would decide.")
    if file < small:
        less = f"Heap and mapped files grew by less than {small / MB:,.0f} MB each {over_input}."
        return Cause("flat", (less,))
    resident = " of mapped files are resident. The kernel reclaims them when it needs memory."
    return Cause("page-cache", (mb(file), resident), ("mapped files",))


def _cause_of_large_growth(
    record: Record, events: Events, anon: float, over_input: str, small: float, again: Regrowth, named: tuple[str, ...]
) -> Cause:
    """The cause of growth above the threshold, from the teardown."""
    evidence = ""
    first, full = readings(events, "imported")[-1]["tree"], readings(events, "released")[0]["tree"]
    if full.get("processes", 1) > first.get("processes", 1):
        once = _anon_pss_growth(events)
        pss = "unknown" if once is None else f"{once / MB:+,.0f} MB"
        evidence = f"; anonymous PSS {pss}"
        # If both numbers agree, no memory is shared, so no step counts a page twice.
        if once is None or abs(anon - once) >= small:
            return replace(_cause_with_more_processes(anon, once, over_input, small), evidence=evidence)
    by_owner: dict[str, list[float]] = {}
    for step in steps(record, events):
        by_owner.setdefault(step["owner"], []).append(step["share"] or 0.0)
    shares = {owner: math.fsum(parts) for owner, parts in by_owner.items()}
    evidence += "; " + "; ".join(f"{owner} {share:.0%}" for owner, share in shares.items() if abs(share) >= 0.005)
    cause = _by_owner(shares, anon, over_input, events, again, named)
    return replace(cause, evidence=evidence + cause.evidence)


def _ended_before_teardown(events: Events) -> tuple[float, int]:
    """Anonymous bytes at the end of the work, and the number of processes that ended before the teardown."""
    at_end = [event["tree"] for event in readings(events, "work")[-1:]]
    now = readings(events, "released")[0]["tree"].get("processes", 1)
    return (at_end[0]["anon_bytes"], at_end[0].get("processes", 1) - now) if at_end else (0.0, 0)


def _anon_pss_growth(events: Events) -> float | None:
    """Growth of anonymous PSS in bytes (it counts each page once); None if PSS was not read."""
    imported = readings(events, "imported")[-1]["tree"]
    at_end = [event["tree"] for event in readings(events, "phase") if event["phase"] == "release"]
    shared = at_end[-1].get("pss_anon_bytes") if at_end else None
    return None if shared is None else float(shared - imported.get("pss_anon_bytes", imported["anon_bytes"]))


def _cause_with_more_processes(anon: float, grown: float | None, over_input: str, small: float) -> Cause:
    """The cause if there are more processes than after the imports. Summing their memory counts shared pages several
    times."""
    if grown is not None and grown < small:
        less = f"Anonymous PSS, which counts shared pages once, grew by less than {small / MB:,.0f} MB {over_input}: "
        less += "the processes share their memory."
        return Cause("flat", (less,))
    once = "an unknown amount" if grown is None else mb(grown)
    summed = f" {over_input} summed over processes, and by "
    decides = " with each page counted once. The same work in one process would show who holds it."
    return undecided("Anonymous memory grew by ", mb(anon), summed, once, decides)


def _by_owner(
    shares: Mapping[str, float], anon: float, over_input: str, events: Events, again: Regrowth, named: tuple[str, ...]
) -> Cause:
    grew: Words = ("Anonymous memory grew by ", mb(anon), f" {over_input}")
    unused = {owner: share for owner, share in shares.items() if owner in UNUSED}
    held = {owner: max(share, 0.0) for owner, share in shares.items() if owner not in (*UNUSED, RESIDUE)}
    residue = shares[RESIDUE]
    if math.fsum(unused.values()) >= CARRIES:
        keepers = named or tuple(
            owner.partition(",")[0]
            for owner in sorted(unused, key=lambda owner: -unused[owner])
            if unused[owner] >= NAMED or unused[owner] == max(unused.values())
        )
        s = "s" if len(keepers) == 1 else ""
        most = "most of " if len(keepers) < sum(share > _COUNTED for share in unused.values()) else ""
        kept = f" is unused: {' and '.join(keepers)} keep{s} {most}it for reuse. "
        kept += "It counts against a limit until the program returns it."
        return Cause("retained", (*grew, "; ", percent(math.fsum(unused.values())), kept), keepers)
    order = sorted(held, key=lambda owner: -held[owner])
    names = named or tuple(owner for owner in order if held[owner] >= NAMED)
    carried = math.fsum(held[name] for name in names)
    if carried >= CARRIES:
        more = ". It grows with every epoch" if again.shape == "grows" else ""
        released = f"; releasing {' and '.join(names)} freed "
        if ended := _processes_ended(events, names):
            owners = (*names, "its processes")
            imported = readings(events, "imported")[-1]["tree"]["anon_bytes"]
            ends: Words = (
                " of it, and ended ",
                Number(ended, "{:,.0f}"),
                " processes. This includes their imports; ",
            )
            ends += ("those of the first process took ", mb(imported), f"{more}.")
            return Cause("held", (*grew, released, percent(carried), *ends), owners)
        return Cause("held", (*grew, released, percent(carried), f" of it{more}."), names)
    if residue >= CARRIES:
        return _cause_of_residue(residue, anon, grew, events, again)
    return undecided(*grew, "; no single cause explains two thirds of it. A larger input may show which one grows.")


def _processes_ended(events: Events, names: Sequence[str]) -> int:
    """Number of processes that ended when these owners were released."""
    pairs = itertools.pairwise(readings(events, "released"))
    trees = [(before["tree"], after["tree"]) for before, after in pairs if after["owner"] in names]
    return sum(before.get("processes", 1) - after.get("processes", 1) for before, after in trees)


def _cause_of_residue(residue: float, anon: float, grew: Words, events: Events, again: Regrowth) -> Cause:
    """The cause of growth that stayed after all declared owners were released: fragments, a leak, or undeclared
    objects."""
    before, last = readings(events, "imported")[-1], readings(events, "released")[-1]
    blocks = (last.get("python_blocks") or 0) - (before.get("python_blocks") or 0)
    remains = residue * anon
    grew = (*grew, "; ", percent(residue), " of it stayed after all declared owners were released")
    if blocks * _BLOCK_BYTES > 0.05 * remains:
        more = Number(blocks, "{:,.0f}")
        who = " more Python objects live than after the imports. Declaring their holder as an owner would decide."
        return undecided(*grew, ", and ", more, who)
    if not (last.get("heap") and before.get("heap")):
        # From outside, fragments and a leak look alike.
        what = ". The allocator does not report its memory in use; a run with glibc's allocator would decide."
        return undecided(*grew, what)
    in_use = last["heap"]["in_use_bytes"] - before["heap"]["in_use_bytes"]
    free = last["heap"].get("unused_bytes", 0) - before["heap"].get("unused_bytes", 0)
    cause = _cause_from_malloc(in_use, free, remains, grew, again)
    return replace(cause, evidence=f"; malloc has {in_use / MB:+,.0f} MB more in use than after the imports")


def _cause_from_malloc(in_use: float, free: float, remains: float, grew: Words, again: Regrowth) -> Cause:
    """The cause of growth that stayed, from malloc's own count of memory in use."""
    if in_use < (1 - CARRIES) * remains:
        malloc = (*grew, "; malloc has ", mb(in_use), " in use and ", mb(free), " free")
        if free < CARRIES * remains:
            return undecided(*malloc, ". The rest was not allocated by malloc.")
        fragments = ": fragments of pages that it cannot return."
        return Cause("retained", (*malloc, fragments), ("allocator (fragments)",))
    if in_use < CARRIES * remains:
        return undecided(*grew, "; it is a mix of fragments and memory in use. More epochs would decide.")
    if again.shape == "grows":
        added = Number(again.slope_bytes / MB, "{:,.1f} MB")
        adds = (*grew, "; malloc has it in use, and every epoch of the same work adds ", added, ".")
        return Cause("leak", adds, ("memory outside Python's objects",))
    if again.shape == "levels off":
        once = ", but repeating the same work adds nothing: it was allocated once."
        return Cause("held", (*grew, once), ("native code, taken once",))
    if again.reason == FEW:
        return undecided(*grew, ". One run cannot show whether repeated work adds more. Repeats would decide.")
    return undecided(*grew, ". Repeating the same work in one process (workload `soak`) would decide.")
