"""Table `verdicts`: why memory grew, in plain words, from rules that are written down in docs/explain.md.

The rules are tested on programs with a planted owner (tests/analysis). Where the evidence is too weak the verdict is
`undecided`, with what would decide it: that is better than a wrong verdict.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import pandas as pd

from ..experiment import Cell
from ..metrics import Events, Record, Records
from ..units import MB
from .matters import GROWN_BYTES, GROWN_SHARE
from .owners import RESIDUE, owners, readings
from .regrowth import Regrowth, epoch_input_bytes, fit

# What carries a verdict; below it the sentence tells the shares, and the verdict is undecided.
CARRIES = 2 / 3
# Owners that are named beside the largest.
NAMED = 0.2
UNUSED = ("arrow pool, unused", "allocator, unused")
# A Python object takes 16 bytes and more.
_BLOCK_BYTES = 16
COLUMNS = ["experiment", "stack", "verdict", "owner", "sentence", "evidence", "anon_grown_bytes", "run", "n"]

Verdict = Literal["flat", "page-cache", "retained", "held", "leak", "undecided"]
Run = tuple[Record, Events]


@dataclass(frozen=True)
class Finding:
    verdict: Verdict
    owner: str
    sentence: str
    evidence: str


def undecided(sentence: str, evidence: str) -> Finding:
    """What the evidence does not carry, with what would decide it."""
    return Finding("undecided", "", sentence, evidence)


def verdicts(records: Records) -> pd.DataFrame:
    """A line a cell, over its repeats that finished their work: repeats that disagree leave it undecided."""
    cells: dict[tuple[Any, ...], list[Run]] = {}
    for record, events in records:
        if record["completed_work"] and len(readings(events, "released")) > 1 and readings(events, "imported"):
            key = tuple((name, value) for name, value in record["cell"].items() if name != "rep")
            cells.setdefault(key, []).append((record, events))
    lines = [
        {**dict(key), **asdict(judge_all(runs)), "anon_grown_bytes": _grown(runs), "run": _path(runs), "n": len(runs)}
        for key, runs in cells.items()
    ]
    return pd.DataFrame(lines, columns=None if lines else COLUMNS)


def _grown(runs: Sequence[Run]) -> float:
    """Growth of anonymous memory, the median of the repeats."""
    return float(pd.Series([owners([run])["anon_grown_bytes"].iloc[0] for run in runs]).median())


def _path(runs: Sequence[Run]) -> str:
    """The folder of one of the runs, so that it can be made again alone."""
    cell = runs[0][0]["cell"]
    axes = tuple((axis, value) for axis, value in cell.items() if axis not in ("experiment", "rep"))
    return Cell(cell["experiment"], axes, cell["rep"]).path


def judge_all(runs: Sequence[Run]) -> Finding:
    """The verdict of a cell from its repeats."""
    found = [judge(record, events) for record, events in runs]
    kinds = {finding.verdict for finding in found}
    if len(kinds) == 1:
        return found[len(found) // 2]
    said = "; ".join(f"{finding.verdict}: {finding.sentence}" for finding in found)
    return undecided(f"Repeats disagree ({', '.join(sorted(kinds))}): more of them would decide.", said)


def judge(record: Record, events: Events) -> Finding:
    """The verdict of one run, from its teardown."""
    table = owners([(record, events)])
    imported, full = readings(events, "imported")[-1], readings(events, "released")[0]
    anon = full["tree"]["anon_bytes"] - imported["tree"]["anon_bytes"]
    file = full["tree"]["file_bytes"] - imported["tree"]["file_bytes"]
    bytes_in = float(record["work"].get("bytes_in", 0))
    small = max(GROWN_BYTES, GROWN_SHARE * bytes_in)
    again = fit(events, epoch_input_bytes(record))
    given = f"over {bytes_in / MB:,.0f} MB of input" if bytes_in else "over the work"
    evidence = f"anonymous {anon / MB:+,.0f} MB, file {file / MB:+,.0f} MB {given}"
    if again.slope_bytes is not None:
        evidence += f"; {again.slope_bytes / MB:+,.1f} MB an epoch in the later ones ({again.verdict})"
    if anon < small:
        if again.verdict == "grows":
            return undecided(
                f"Little has grown so far ({anon / MB:,.0f} MB), but in every epoch: more epochs would decide.",
                evidence,
            )
        if file < small:
            return Finding("flat", "", f"Memory did not grow {given}.", evidence)
        return Finding(
            "page-cache",
            "mapped files",
            f"{file / MB:,.0f} MB of mapped files are resident; the kernel takes them back when it needs to.",
            evidence,
        )
    if full["tree"].get("processes", 1) > imported["tree"].get("processes", 1):
        return _of_several(events, anon, given, evidence, small)
    shares = table.groupby("owner", sort=False)["share"].sum()
    evidence += "; " + ", ".join(f"{owner} {share:.0%}" for owner, share in shares.items() if abs(share) >= 0.005)
    return _of_growth(shares, anon, given, evidence, events, again)


def _of_several(events: Events, anon: float, given: str, evidence: str, small: float) -> Finding:
    """More processes than after the imports: summed anonymous memory counts what they share once for each."""
    imported = readings(events, "imported")[-1]["tree"]
    at_end = [event["tree"] for event in readings(events, "phase") if event["phase"] == "release"]
    shared = at_end[-1].get("pss_anon_bytes") if at_end else None
    grown = None if shared is None else shared - imported.get("pss_anon_bytes", imported["anon_bytes"])
    said = "not known" if grown is None else f"{grown / MB:+,.0f} MB"
    evidence += f"; anonymous PSS {said}"
    if grown is not None and grown < small:
        return Finding("flat", "", f"Memory did not grow {given}: the processes share what they hold.", evidence)
    return undecided(
        f"Summed over processes that share pages anonymous memory grew by {anon / MB:,.0f} MB {given}; with each page "
        f"counted once: {said}. The same work in one process would decide who holds it.",
        evidence,
    )


def _of_growth(
    shares: "pd.Series[float]", anon: float, given: str, evidence: str, events: Events, again: Regrowth
) -> Finding:
    grew = f"Anonymous memory grew by {anon / MB:,.0f} MB {given}"
    unused = shares[[owner for owner in shares.index if owner in UNUSED]]
    held = shares[[owner for owner in shares.index if owner not in (*UNUSED, RESIDUE)]].clip(lower=0)
    residue = float(shares[RESIDUE])
    if unused.sum() >= CARRIES:
        keeper = str(unused.idxmax()).partition(",")[0]
        return Finding(
            "retained",
            keeper,
            f"{grew}; {min(unused.sum(), 1):.0%} is held by nobody: the {keeper} keeps it for reuse, and gives it back "
            "when asked.",
            evidence,
        )
    if held.sum() >= CARRIES:
        named = [str(owner) for owner in held.sort_values(ascending=False).index if held[owner] >= NAMED]
        more = ", and it grows with every epoch" if again.verdict == "grows" else ""
        names = " and ".join(named)
        return Finding(
            "held", names, f"{grew}; {min(held[named].sum(), 1):.0%} came free with {names}{more}.", evidence
        )
    if residue >= CARRIES:
        return _of_residue(residue, anon, grew, evidence, events, again)
    return undecided(
        f"{grew}; no one cause carries two thirds of it. A larger input would tell which one grows.", evidence
    )


def _of_residue(residue: float, anon: float, grew: str, evidence: str, events: Events, again: Regrowth) -> Finding:
    """What came free with nobody: fragments, a leak, or objects that no declared owner holds."""
    before, last = readings(events, "imported")[-1], readings(events, "released")[-1]
    blocks = (last.get("python_blocks") or 0) - (before.get("python_blocks") or 0)
    remains = residue * anon
    grew = f"{grew}; {min(residue, 1):.0%} came free with none of the declared owners"
    if blocks * _BLOCK_BYTES > 0.05 * remains:
        return undecided(
            f"{grew}, and {blocks:,} more Python objects live than after the imports: "
            "naming who holds them as an owner would decide.",
            evidence,
        )
    in_use = None
    if last.get("heap") and before.get("heap"):
        in_use = last["heap"]["in_use_bytes"] - before["heap"]["in_use_bytes"]
        evidence += f"; malloc has {in_use / MB:+,.0f} MB more in use than after the imports"
    if in_use is not None and in_use < (1 - CARRIES) * remains:
        return Finding(
            "retained",
            "allocator (fragments)",
            f"{grew}; malloc has only {in_use / MB:,.0f} MB of it in use: the rest are fragments of pages that it "
            "cannot give back.",
            evidence,
        )
    if in_use is not None and in_use < CARRIES * remains:
        return undecided(f"{grew}; fragments and memory in use are mixed. More epochs would tell.", evidence)
    if again.verdict == "grows":
        return Finding(
            "leak",
            "memory outside Python's objects",
            f"{grew}, and every epoch of the same work adds {(again.slope_bytes or 0) / MB:,.1f} MB.",
            evidence,
        )
    if again.verdict == "levels off":
        return Finding(
            "held",
            "native code, taken once",
            f"{grew}, but repeating the same work adds nothing: it was taken once.",
            evidence,
        )
    return undecided(f"{grew}. Repeating the same work in one process (workload `soak`) would decide.", evidence)
