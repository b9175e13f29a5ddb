"""Table `verdicts`: why memory grew, in plain words, from rules that are written down in docs/explain.md.

The rules are tested on programs with a planted owner (tests/analysis). Where the evidence is too weak the verdict is
`undecided`, with what would decide it: that is better than a wrong verdict.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import pandas as pd

from ..experiment import Cell
from ..metrics import Events, Record, Records
from ..units import MB
from .decide import middle
from .matters import GROWN_BYTES, GROWN_SHARE
from .owners import RESIDUE, owners, readings
from .regrowth import Regrowth, epoch_input_bytes, fit, over

# What carries a verdict; below it the sentence tells the shares, and the verdict is undecided.
CARRIES = 2 / 3
# Owners that are named beside the largest.
NAMED = 0.2
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
    owners: tuple[str, ...]
    words: Words
    evidence: str


@dataclass(frozen=True)
class Judged:
    """The verdict of a cell, of all its repeats that finished their work."""

    verdict: Verdict
    owner: str
    sentence: str
    evidence: str


def undecided(words: Words, evidence: str) -> Finding:
    """What the evidence does not carry, with what would decide it."""
    return Finding("undecided", (), words, evidence)


def verdicts(records: Records) -> pd.DataFrame:
    """A line a cell, over its `n` repeats that finished their work: repeats that disagree leave it undecided."""
    cells: dict[tuple[Any, ...], list[Run]] = {}
    for record, events in records:
        if record["completed_work"] and len(readings(events, "released")) > 1 and readings(events, "imported"):
            key = tuple((name, value) for name, value in record["cell"].items() if name != "rep")
            cells.setdefault(key, []).append((record, events))
    lines = [
        {**dict(key), **vars(judge(runs)), **_grown(runs), "run": _path(runs), "n": len(runs)}
        for key, runs in cells.items()
    ]
    return pd.DataFrame(lines, columns=None if lines else COLUMNS)


def _grown(runs: Sequence[Run]) -> dict[str, float]:
    """Growth of anonymous memory, the median of the repeats and the interval of their mean, and what it grew from."""
    grown = [float(owners([run])["anon_grown_bytes"].iloc[0]) for run in runs]
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
    again = over([fit(events) for _, events in runs], epoch_input_bytes(runs[0][0]))
    found = [_judge(record, events, again) for record, events in runs]
    common = tuple(owner for owner in found[0].owners if all(owner in one.owners for one in found))
    if common and any(one.owners != common for one in found):
        found = [_judge(record, events, again, common) for record, events in runs]
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


def _judge(record: Record, events: Events, again: Regrowth, named: tuple[str, ...] = ()) -> Finding:
    """The verdict of one run, from its teardown; of several owners only those that are `named`."""
    table = owners([(record, events)])
    imported, full = readings(events, "imported")[-1], readings(events, "released")[0]
    anon = full["tree"]["anon_bytes"] - imported["tree"]["anon_bytes"]
    file = full["tree"]["file_bytes"] - imported["tree"]["file_bytes"]
    bytes_in = float(record["work"].get("bytes_in", 0))
    small = max(GROWN_BYTES, GROWN_SHARE * bytes_in)
    given = f"over {bytes_in / MB:,.0f} MB of input" if bytes_in else "over the work"
    evidence = f"anonymous {anon / MB:+,.0f} MB, file {file / MB:+,.0f} MB {given}"
    if again.slope_bytes is not None:
        own = fit(events).slope_bytes
        evidence += "" if own is None else f"; {own / MB:+,.1f} MB an epoch in the later ones"
        evidence += f" (over {again.n} runs: {again.verdict})" if again.n > 1 else " (one run: not decided)"
    if anon < small:
        if again.verdict == "grows":
            return undecided(
                ("Little has grown so far (", mb(anon), "), but in every epoch: more epochs would decide."), evidence
            )
        if file < small:
            return Finding("flat", (), (f"Memory grew by less than {small / MB:,.0f} MB {given}.",), evidence)
        return Finding(
            "page-cache",
            ("mapped files",),
            (mb(file), " of mapped files are resident; the kernel takes them back when it needs to."),
            evidence,
        )
    if full["tree"].get("processes", 1) > imported["tree"].get("processes", 1):
        return _of_several(events, anon, given, evidence, small)
    shares = table.groupby("owner", sort=False)["share"].sum()
    evidence += "; " + ", ".join(f"{owner} {share:.0%}" for owner, share in shares.items() if abs(share) >= 0.005)
    return _of_growth(shares, anon, given, evidence, events, again, named)


def _of_several(events: Events, anon: float, given: str, evidence: str, small: float) -> Finding:
    """More processes than after the imports: summed anonymous memory counts what they share once for each."""
    imported = readings(events, "imported")[-1]["tree"]
    at_end = [event["tree"] for event in readings(events, "phase") if event["phase"] == "release"]
    shared = at_end[-1].get("pss_anon_bytes") if at_end else None
    grown = None if shared is None else shared - imported.get("pss_anon_bytes", imported["anon_bytes"])
    known = "not known" if grown is None else f"{grown / MB:+,.0f} MB"
    evidence += f"; anonymous PSS {known}"
    if grown is not None and grown < small:
        less = f"Memory grew by less than {small / MB:,.0f} MB {given}: the processes share what they hold."
        return Finding("flat", (), (less,), evidence)
    return undecided(
        (
            *(
                "Summed over processes that share pages anonymous memory grew by ",
                mb(anon),
                f" {given}; with each page ",
            ),
            *("counted once: ", "not known" if grown is None else mb(grown, "+")),
            ". The same work in one process would decide who holds it.",
        ),
        evidence,
    )


def _of_growth(
    shares: "pd.Series[float]", anon: float, given: str, evidence: str, events: Events, again: Regrowth,
    named: tuple[str, ...],
) -> Finding:  # fmt: skip
    grew: Words = ("Anonymous memory grew by ", mb(anon), f" {given}")
    unused = shares[[owner for owner in shares.index if owner in UNUSED]]
    held = shares[[owner for owner in shares.index if owner not in (*UNUSED, RESIDUE)]].clip(lower=0)
    residue = float(shares[RESIDUE])
    if unused.sum() >= CARRIES:
        keeper = str(unused.idxmax()).partition(",")[0]
        kept = f" is held by nobody: the {keeper} keeps it for reuse, and gives it back when asked."
        return Finding("retained", (keeper,), (*grew, "; ", percent(unused.sum()), kept), evidence)
    if held.sum() >= CARRIES:
        order = held.sort_values(ascending=False).index
        names = named or tuple(str(owner) for owner in order if held[owner] >= NAMED)
        more = ", and it grows with every epoch" if again.verdict == "grows" else ""
        free = percent(held[list(names)].sum())
        return Finding("held", names, (*grew, "; ", free, f" came free with {' and '.join(names)}{more}."), evidence)
    if residue >= CARRIES:
        return _of_residue(residue, anon, grew, evidence, events, again)
    return undecided(
        (*grew, "; no one cause carries two thirds of it. A larger input would tell which one grows."), evidence
    )


def _of_residue(residue: float, anon: float, grew: Words, evidence: str, events: Events, again: Regrowth) -> Finding:
    """What came free with nobody: fragments, a leak, or objects that no declared owner holds."""
    before, last = readings(events, "imported")[-1], readings(events, "released")[-1]
    blocks = (last.get("python_blocks") or 0) - (before.get("python_blocks") or 0)
    remains = residue * anon
    grew = (*grew, "; ", percent(residue), " came free with none of the declared owners")
    if blocks * _BLOCK_BYTES > 0.05 * remains:
        more = Number(blocks, "{:,.0f}")
        who = " more Python objects live than after the imports: naming who holds them as an owner would decide."
        return undecided((*grew, ", and ", more, who), evidence)
    if not (last.get("heap") and before.get("heap")):
        # Fragments and a leak look alike from outside.
        what = ". What malloc has in use is not known; glibc's own allocator, which says so, would decide."
        return undecided((*grew, what), evidence)
    in_use = last["heap"]["in_use_bytes"] - before["heap"]["in_use_bytes"]
    evidence += f"; malloc has {in_use / MB:+,.0f} MB more in use than after the imports"
    if in_use < (1 - CARRIES) * remains:
        fragments = " of it in use: the rest are fragments of pages that it cannot give back."
        return Finding(
            "retained", ("allocator (fragments)",), (*grew, "; malloc has only ", mb(in_use), fragments), evidence
        )
    if in_use < CARRIES * remains:
        return undecided((*grew, "; fragments and memory in use are mixed. More epochs would tell."), evidence)
    if again.verdict == "grows":
        added = Number((again.slope_bytes or 0) / MB, "{:,.1f} MB")
        return Finding(
            "leak",
            ("memory outside Python's objects",),
            (*grew, ", malloc has it in use, and every epoch of the same work adds ", added, "."),
            evidence,
        )
    if again.verdict == "levels off":
        return Finding(
            "held",
            ("native code, taken once",),
            (*grew, ", but repeating the same work adds nothing: it was taken once."),
            evidence,
        )
    if again.verdict == "one run":
        return undecided(
            (*grew, ". One run does not tell whether repeated work adds more: repeats would decide."), evidence
        )
    return undecided((*grew, ". Repeating the same work in one process (workload `soak`) would decide."), evidence)
