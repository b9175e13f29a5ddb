"""Table `verdicts`: why memory grew, in plain words, from rules that are written down in docs/explain.md.

The rules are tested on programs with a planted owner (tests/analysis). Where the evidence is too weak the verdict is
`undecided`, with what would decide it: that is better than a wrong verdict.
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
from .thresholds import GROWN_BYTES, GROWN_SHARE

# What carries a verdict; below it the sentence tells the shares, and the verdict is undecided.
CARRIES = 2 / 3
# Owners that are named beside the largest, and what is so little that it is not spoken of.
NAMED, _SPOKEN_OF = 0.2, 0.05
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

Verdict = Literal["flat", "page-cache", "retained", "held", "leak", "undecided"]
Run = tuple[Record, Events]


@dataclass(frozen=True)
class Number:
    """A number of a sentence, and how it is written."""

    value: float
    form: str

    def of(self, others: Sequence["Number"]) -> str:
        """The median of this and its repeats, and the range."""
        values = [other.value for other in others]
        said = self.form.format(float(np.median(values)))
        low, high = (self.form.format(end) for end in (min(values), max(values)))
        return said if low == high else f"{said} ({low} to {high})"


Words = tuple[str | Number, ...]


def mb(value: float, sign: str = "") -> Number:
    """A size in MB."""
    return Number(value / MB, f"{{:{sign},.0f}} MB")


def percent(value: float) -> Number:
    """A share of the growth; more than all of it, which later garbage can make it, is all."""
    return Number(min(value, 1), "{:.0%}")


def said(repeats: Sequence[Words]) -> str:
    """The sentence of repeats that say the same: of each number the median, and the range."""
    found = []
    for place in zip(*repeats, strict=True):
        first = place[0]
        found.append(first if isinstance(first, str) else first.of([cast(Number, number) for number in place]))
    return "".join(found)


def _frame(words: Words) -> Hashable:
    """What has to be the same for two sentences to be put together."""
    return tuple(word if isinstance(word, str) else None for word in words)


@dataclass(frozen=True)
class Finding:
    """The verdict of one run."""

    verdict: Verdict
    words: Words
    owners: tuple[str, ...] = ()
    evidence: str = ""


@dataclass(frozen=True)
class Judged:
    """The verdict of a cell, of all its repeats that finished their work."""

    verdict: Verdict
    owner: str
    sentence: str
    evidence: str


def undecided(*words: str | Number) -> Finding:
    """What the evidence does not carry, with what would decide it."""
    return Finding("undecided", words)


def verdicts(records: Sequence[Run]) -> pd.DataFrame:
    """A line a cell, over its `n` repeats that finished their work: repeats that disagree leave it undecided."""
    torn_down = (
        (record, place)
        for place, (record, events) in enumerate(records)
        if record["completed_work"] and len(readings(events, "released")) > 1 and readings(events, "imported")
    )
    # The runs of one cell at a time: those of ten thousand are a gigabyte.
    lines = [cell | _line([records[place] for place in places]) for cell, places in by_cell(torn_down)]
    return pd.DataFrame(lines, columns=None if lines else COLUMNS)


def _line(runs: Sequence[Run]) -> dict[str, Any]:
    return {**vars(judge(runs)), **_grown(runs), "run": _path(runs), "n": len(runs)}


def _grown(runs: Sequence[Run]) -> dict[str, float]:
    """Growth of anonymous memory, the median of the repeats and the interval of their mean, and what it grew from."""
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
    """The folder of one of the runs, so that it can be made again alone."""
    cell = runs[0][0]["cell"]
    axes = tuple((axis, value) for axis, value in cell.items() if axis not in ("experiment", "rep"))
    return Cell(cell["experiment"], axes, cell["rep"]).path


def judge(runs: Sequence[Run]) -> Judged:
    """The verdict of a cell from its repeats; what repeated work adds is decided over all of them."""
    slopes = [fit(events) for _, events in runs]
    again = over(slopes, epoch_input_bytes(*runs[0]))
    found = [_judge(*run, slope, again) for run, slope in zip(runs, slopes, strict=True)]
    common = tuple(owner for owner in found[0].owners if all(owner in one.owners for one in found))
    if common and any(one.owners != common for one in found):
        found = [_judge(*run, slope, again, common) for run, slope in zip(runs, slopes, strict=True)]
    repeats = f" ({len(runs)} runs: medians, and ranges where they differ)" if len(runs) > 1 else " (one run)"
    numbers = zip((record["cell"].get("rep", 1) for record, _ in runs), found, strict=True)
    evidence = " / ".join(f"repeat {rep}: {one.evidence}" if len(runs) > 1 else one.evidence for rep, one in numbers)
    kinds = {one.verdict for one in found}
    if len(kinds) > 1 or (found[0].owners and not common):
        each = "; ".join(f"{one.verdict}: {said([one.words])}" for one in found)
        what = ", ".join(sorted(kinds)) if len(kinds) > 1 else "who held it"
        return Judged("undecided", "", f"Repeats disagree ({what}): more of them would decide.", f"{each} / {evidence}")
    if len({_frame(one.words) for one in found}) > 1:
        different = " ".join(dict.fromkeys(said([one.words]) for one in found))
        return Judged(found[0].verdict, " and ".join(common), f"{different}{repeats}", evidence)
    sentence = said([one.words for one in found]).removesuffix(".")
    return Judged(found[0].verdict, " and ".join(common), f"{sentence}{repeats}.", evidence)


def _judge(record: Record, events: Events, own: Slope, again: Regrowth, named: tuple[str, ...] = ()) -> Finding:
    """The verdict of one run, from its teardown; of several owners only those that are `named`."""
    imported, full = readings(events, "imported")[-1], readings(events, "released")[0]
    anon = full["tree"]["anon_bytes"] - imported["tree"]["anon_bytes"]
    file = full["tree"]["file_bytes"] - imported["tree"]["file_bytes"]
    bytes_in = float(record["work"].get("bytes_in", 0))
    small = max(GROWN_BYTES, GROWN_SHARE * bytes_in)
    given = f"over {bytes_in / MB:,.0f} MB of input" if bytes_in else "over the work"
    evidence = f"at the teardown anonymous {anon / MB:+,.0f} MB, file {file / MB:+,.0f} MB {given}"
    if not math.isnan(again.slope_bytes):
        slope = own.slope_bytes
        evidence += "" if slope is None else f"; {slope / MB:+,.1f} MB an epoch in the later ones"
        evidence += f" (over {again.n} runs: {again.verdict})" if again.n > 1 else " (one run: not decided)"
    if anon < small:
        found = _of_little(anon, file, given, small, events, again)
    else:
        found = _of_growth(record, events, anon, given, small, again, named)
    return replace(found, evidence=evidence + found.evidence)


def _of_little(anon: float, file: float, given: str, small: float, events: Events, again: Regrowth) -> Finding:
    """Where anonymous memory has not grown by so much that somebody must hold it."""
    at_end, ended = _gone(events)
    more = at_end - readings(events, "imported")[-1]["tree"]["anon_bytes"]
    if ended > 0 and more >= small:
        said = " more anonymous memory at the end of the work than after the imports, and "
        why = (
            " processes ended before anything was released, and with them what each imported for itself: the same "
            "work in one process would decide who holds it."
        )
        return undecided(mb(more), said, Number(ended, "{:,.0f}"), why)
    if again.verdict == "grows":
        return undecided("Little has grown so far (", mb(anon), "), but in every epoch: more epochs would decide.")
    if file < small:
        less = f"Anonymous memory and mapped files grew by less than {small / MB:,.0f} MB each {given}."
        return Finding("flat", (less,))
    resident = " of mapped files are resident; the kernel takes them back when it needs to."
    return Finding("page-cache", (mb(file), resident), ("mapped files",))


def _of_growth(
    record: Record, events: Events, anon: float, given: str, small: float, again: Regrowth, named: tuple[str, ...]
) -> Finding:
    """Who holds it, by the teardown; `evidence` is what that adds to what is known before."""
    evidence = ""
    first, full = readings(events, "imported")[-1]["tree"], readings(events, "released")[0]["tree"]
    if full.get("processes", 1) > first.get("processes", 1):
        once = _once(events)
        known = "not known" if once is None else f"{once / MB:+,.0f} MB"
        evidence = f"; anonymous PSS {known}"
        # Where both are the same nothing is shared, and no page counts twice in any step.
        if once is None or abs(anon - once) >= small:
            return replace(_of_several(anon, once, given, small), evidence=evidence)
    by_owner: dict[str, list[float]] = {}
    for step in steps(record, events):
        by_owner.setdefault(step["owner"], []).append(step["share"] or 0.0)
    shares = {owner: math.fsum(parts) for owner, parts in by_owner.items()}
    evidence += "; " + ", ".join(f"{owner} {share:.0%}" for owner, share in shares.items() if abs(share) >= 0.005)
    found = _by_owner(shares, anon, given, events, again, named)
    return replace(found, evidence=evidence + found.evidence)


def _gone(events: Events) -> tuple[float, int]:
    """Anonymous memory at the end of the work, and how many of its processes ended before the teardown."""
    at_end = [event["tree"] for event in readings(events, "work")[-1:]]
    now = readings(events, "released")[0]["tree"].get("processes", 1)
    return (at_end[0]["anon_bytes"], at_end[0].get("processes", 1) - now) if at_end else (0.0, 0)


def _once(events: Events) -> float | None:
    """How much anonymous memory grew with each page counted once, in bytes; None where PSS was not read."""
    imported = readings(events, "imported")[-1]["tree"]
    at_end = [event["tree"] for event in readings(events, "phase") if event["phase"] == "release"]
    shared = at_end[-1].get("pss_anon_bytes") if at_end else None
    return None if shared is None else float(shared - imported.get("pss_anon_bytes", imported["anon_bytes"]))


def _of_several(anon: float, grown: float | None, given: str, small: float) -> Finding:
    """More processes than after the imports: summed anonymous memory counts what they share once for each."""
    if grown is not None and grown < small:
        less = f"Anonymous memory, with what is shared divided, grew by less than {small / MB:,.0f} MB {given}: "
        less += "the processes share what they hold."
        return Finding("flat", (less,))
    summed = "Summed over processes that share pages anonymous memory grew by "
    once = "not known" if grown is None else mb(grown, "+")
    decides = ". The same work in one process would decide who holds it."
    return undecided(summed, mb(anon), f" {given}; with each page ", "counted once: ", once, decides)


def _by_owner(
    shares: Mapping[str, float], anon: float, given: str, events: Events, again: Regrowth, named: tuple[str, ...]
) -> Finding:
    grew: Words = ("Anonymous memory grew by ", mb(anon), f" {given}")
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
        most = "most of " if len(keepers) < sum(share > _SPOKEN_OF for share in unused.values()) else ""
        kept = (
            f" is in use by nobody: {' and '.join(keepers)} keep{s} {most}it for reuse, and give{s} it back when asked."
        )
        return Finding("retained", (*grew, "; ", percent(math.fsum(unused.values())), kept), keepers)
    order = sorted(held, key=lambda owner: -held[owner])
    names = named or tuple(owner for owner in order if held[owner] >= NAMED)
    carried = math.fsum(held[name] for name in names)
    if carried >= CARRIES:
        more = ", and it grows with every epoch" if again.verdict == "grows" else ""
        came = f" came free with {' and '.join(names)}{more}"
        if ended := _ended(events, names):
            owners = (*names, "its processes")
            imported = readings(events, "imported")[-1]["tree"]["anon_bytes"]
            ends: Words = (" and the ", Number(ended, "{:,.0f}"), " processes that ended with it. What each of them ")
            ends += ("imports for itself is in this; here the imports took ", mb(imported), ".")
            return Finding("held", (*grew, "; ", percent(carried), came, *ends), owners)
        return Finding("held", (*grew, "; ", percent(carried), came, "."), names)
    if residue >= CARRIES:
        return _of_residue(residue, anon, grew, events, again)
    return undecided(*grew, "; no one cause carries two thirds of it. A larger input may tell which one grows.")


def _ended(events: Events, names: Sequence[str]) -> int:
    """How many processes fewer there were after owners were released."""
    pairs = itertools.pairwise(readings(events, "released"))
    known = [(before["tree"], after["tree"]) for before, after in pairs if after["owner"] in names]
    return sum(before.get("processes", 1) - after.get("processes", 1) for before, after in known)


def _of_residue(residue: float, anon: float, grew: Words, events: Events, again: Regrowth) -> Finding:
    """What came free with nobody: fragments, a leak, or objects that no declared owner holds."""
    before, last = readings(events, "imported")[-1], readings(events, "released")[-1]
    blocks = (last.get("python_blocks") or 0) - (before.get("python_blocks") or 0)
    remains = residue * anon
    grew = (*grew, "; ", percent(residue), " came free with none of the declared owners")
    if blocks * _BLOCK_BYTES > 0.05 * remains:
        more = Number(blocks, "{:,.0f}")
        who = " more Python objects live than after the imports: naming who holds them as an owner would decide."
        return undecided(*grew, ", and ", more, who)
    if not (last.get("heap") and before.get("heap")):
        # Fragments and a leak look alike from outside.
        what = ". What malloc has in use is not known; glibc's own allocator, which says so, would decide."
        return undecided(*grew, what)
    in_use = last["heap"]["in_use_bytes"] - before["heap"]["in_use_bytes"]
    free = last["heap"].get("unused_bytes", 0) - before["heap"].get("unused_bytes", 0)
    found = _of_malloc(in_use, free, remains, grew, again)
    return replace(found, evidence=f"; malloc has {in_use / MB:+,.0f} MB more in use than after the imports")


def _of_malloc(in_use: float, free: float, remains: float, grew: Words, again: Regrowth) -> Finding:
    """What of what remains malloc has in use, and whether repeated work adds to it."""
    if in_use < (1 - CARRIES) * remains:
        known = (*grew, "; malloc has only ", mb(in_use), " of it in use, and ", mb(free), " free")
        if free < CARRIES * remains:
            return undecided(*known, ": the rest was not taken through malloc.")
        fragments = ": fragments of pages that it cannot give back."
        return Finding("retained", (*known, fragments), ("allocator (fragments)",))
    if in_use < CARRIES * remains:
        return undecided(*grew, "; fragments and memory in use are mixed. More epochs would tell.")
    if again.verdict == "grows":
        added = Number(again.slope_bytes / MB, "{:,.1f} MB")
        adds = (*grew, ", malloc has it in use, and every epoch of the same work adds ", added, ".")
        return Finding("leak", adds, ("memory outside Python's objects",))
    if again.verdict == "levels off":
        once = ", but repeating the same work adds nothing: it was taken once."
        return Finding("held", (*grew, once), ("native code, taken once",))
    if again.verdict == "one run":
        return undecided(*grew, ". One run does not tell whether repeated work adds more: repeats would decide.")
    return undecided(*grew, ". Repeating the same work in one process (workload `soak`) would decide.")
