"""What a gate says: its verdict, in ten lines and in files."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

import pandas as pd

from ..analysis.changes import changes, counts, in_words
from ..analysis.sequential import AT, UNDECIDED, must_be_decided, without_work
from ..metrics import METRICS
from ..metrics.runs import FAILED
from ..units import GB
from .sides import BASELINE
from .wheels import Requirement

WORSE, NOTHING_WORSE, CANNOT_SAY = "worse", "nothing worse", "cannot say"
STATUS = {NOTHING_WORSE: 0, WORSE: 1, CANNOT_SAY: 2}
LINES = 10
_NUMBERS = ("baseline", "candidate", "ratio", "difference", "low", "high", "p", "p_corrected", "n", "could_see")
_MACHINE = ("cpu_count", "machine_memory_bytes", "architecture", "kernel", "cgroup_version")


@dataclass(frozen=True)
class Gate:
    """All that a gate found out."""

    asked: Mapping[str, Sequence[Requirement]]
    """By side."""
    runs: pd.DataFrame
    table: pd.DataFrame
    """Table `comparisons`."""
    used_s: float
    budget_s: float
    apart: Mapping[str, str] = field(default_factory=dict)
    """What differs beside what was asked for, by base stack; only where something does."""
    moved: Mapping[str, str] = field(default_factory=dict)
    """What had to move beside what was asked for, by stack of a side."""
    cells: Sequence[str] = ()
    """The experiments of the cells that were weighed, as often as they have cells."""

    @property
    def changes(self) -> pd.DataFrame:
        """Table `changes`, worst first; `why` says too what differs beside what was asked for."""
        found = changes(self.table)
        beside = found["before"].str.removesuffix(f".{BASELINE}").map(self.apart)
        said = [
            "; ".join(part for part in (why, f"differs beside: {other}" if isinstance(other, str) else "") if part)
            for why, other in zip(found["why"], beside, strict=True)
        ]
        return found.assign(why=said)

    @property
    def words(self) -> list[dict[str, str]]:
        """The changes in words, in their order; a cell by the axes in which those of its experiment differ."""
        found = self.changes.reset_index(drop=True)
        said = dict[int, dict[str, str]]()
        for _, lines in found.groupby("experiment"):
            said |= zip(lines.index, in_words(lines), strict=True)
        return [said[number] for number in found.index]

    @property
    def verdict(self) -> str:
        """Worse where anything is; else whether everything that must be decided is."""
        found = self.changes
        if (found["verdict"] == WORSE).any():
            return WORSE
        open_ = found[(found["verdict"] == UNDECIDED) & found["metric"].map(must_be_decided)]
        return NOTHING_WORSE if len(found) and open_.empty and not self.without else CANNOT_SAY

    @property
    def without(self) -> list[str]:
        """Cells that say nothing, in words: what is not applicable on a side, and what fails on both."""
        said = []
        left_out = self.runs[self.runs["outcome"] == "not_applicable"]
        for (experiment, stack), lines in left_out.groupby(["experiment", "stack"], sort=False):
            said.append(f"{experiment}, {stack}: not applicable: {lines['reason'].iloc[0]}")
        for cell in without_work(self.table):
            known = dict(cell)
            failed = self.runs[(self.runs["experiment"] == known["experiment"]) & self.runs["reason"].ne("")]
            said.append(f"{known['experiment']}: fails on both sides: {failed['reason'].iloc[0]}")
        return said

    @property
    def machine(self) -> dict[str, Any]:
        """What the runs say of the machine."""
        return {name: _plain(self.runs[name].dropna().iloc[0]) for name in _MACHINE if self.runs.get(name) is not None}

    @property
    def built(self) -> list[dict[str, Any]]:
        """What was asked for, and of wheels their versions and hashes."""
        return [
            {"side": side, "asked": one.asked, "package": one.package, "version": one.version, "sha256": one.sha256}
            for side, asked in self.asked.items()
            for one in asked
        ]

    def as_json(self) -> dict[str, Any]:
        """gate.json."""
        return {
            "verdict": self.verdict,
            "changes": [
                {"cell": said["cell"], "metric": line["metric"], "verdict": line["verdict"], "bound": line["bound"]}
                | {name: _plain(line[name]) for name in _NUMBERS}
                | {"must_be_decided": must_be_decided(line["metric"])}
                for line, said in zip(self.changes.to_dict("records"), self.words, strict=True)
            ],
            "says_nothing": self.without,
            "n": {str(name): int(n) for name, n in self.runs.groupby("stack", sort=False)["rep"].max().items()},
            "weighing_s": round(self.used_s, 1),
            "budget_s": self.budget_s,
            "requirements": self.built,
            "moved": dict(self.moved),
            "differs_beside": dict(self.apart),
            "machine": self.machine,
        }

    def lines(self) -> list[str]:
        """The verdict in at most ten lines, worst first."""
        found = self.changes
        sides = " against ".join(" ".join(one.asked for one in self.asked[side]) for side in ("candidate", "baseline"))
        head = [f"{self.verdict}: {sides}"]
        notes = [f"{base}: differs beside: {what}" for base, what in self.apart.items()]
        notes = [*self.without, *notes][:2]
        last = (
            f"{counts(found)}; {len(self.cells)} cells, {len(self.runs)} runs in {self.used_s / 60:.1f} of "
            f"{self.budget_s / 60:g} minutes on {self._machine()}"
        )
        told = [
            (line, said)
            for line, said in zip(found.to_dict("records"), self.words, strict=True)
            if line["verdict"] in ("worse", "better")
            or (line["verdict"] == UNDECIDED and must_be_decided(line["metric"]))
        ]
        room = LINES - len(head) - len(notes) - 1
        shown = told if len(told) <= room else told[: room - 1]
        more = [f"and {len(told) - len(shown)} more"] if len(shown) < len(told) else []
        return [*head, *(_sentence(said) for _, said in shown), *more, *notes, last]

    def _machine(self) -> str:
        known = self.machine
        memory = known.get("machine_memory_bytes")
        return f"{known.get('cpu_count', '?')} processors" + (f" and {memory / GB:.0f} GB" if memory else "")

    def markdown(self) -> str:
        """gate.md: the ten lines, then all of it."""
        first, *rest = self.lines()
        lines = [f"**beyond-ram gate: {_escaped(first)}**", "", *(f"- {_escaped(line)}" for line in rest), ""]
        lines += ["<details><summary>Every metric</summary>", ""]
        columns = ("verdict", "metric", "cell", "baseline", "candidate", "effect", "interval", "n", "bound", "notes")
        titles = ("verdict", "metric", "cell", "baseline", "candidate", "change", "95 %, over all looks", "n")
        lines += [f"| {' | '.join((*titles, 'too little to matter', 'notes'))} |", "|---" * len(columns) + "|"]
        lines += [f"| {' | '.join(_escaped(said[name]) for name in columns)} |" for said in self.words]
        lines += ["", "Built and installed:", ""]
        for one in self.built:
            wheel = f", wheel of version {one['version']}, SHA-256 `{one['sha256']}`" if one["sha256"] else ""
            lines.append(f"- {one['side']}: `{one['asked']}`{wheel}")
        lines += [f"- {stack}: had to move: {_escaped(what)}" for stack, what in self.moved.items()]
        lines += [f"- {base}: differs beside between the sides: {_escaped(what)}" for base, what in self.apart.items()]
        return "\n".join([*lines, "", "</details>", ""])

    def junit(self) -> ElementTree.Element:
        """gate.xml: a test case a cell and metric."""
        found = self.changes
        bad = found["verdict"] == "worse"
        skipped = found["verdict"] == UNDECIDED
        numbers = {"tests": len(found), "failures": int(bad.sum()), "skipped": int(skipped.sum()), "errors": 0}
        suite = ElementTree.Element("testsuite", {"name": "beyond-ram gate"} | {k: str(v) for k, v in numbers.items()})
        for line, said in zip(found.to_dict("records"), self.words, strict=True):
            case = ElementTree.SubElement(suite, "testcase", {"classname": said["cell"], "name": str(line["metric"])})
            if line["verdict"] == WORSE:
                ElementTree.SubElement(case, "failure", {"message": _sentence(said)})
            elif line["verdict"] == UNDECIDED:
                ElementTree.SubElement(case, "skipped", {"message": _sentence(said)})
        return suite


def _sentence(said: Mapping[str, str]) -> str:
    undecided = said["verdict"] == UNDECIDED
    sure = f"{said['interval']}, n = {said['n']}" if said["interval"] and not undecided else f"n = {said['n']}"
    seen = f"; could have been seen: {said['could_see']}" if said["could_see"] and int(said["n"]) >= AT[1] else ""
    why = f"; {said['notes']}" if said["notes"] and said["metric"] == METRICS[FAILED].label else ""
    change = f"{said['baseline']} to {said['candidate']}, {said['effect']} ({sure})"
    return f"{said['verdict']}: {said['metric']}, {said['cell']}: {change}{seen}{why}"


def _escaped(text: str) -> str:
    """A text for a cell of a Markdown table."""
    return " ".join(text.replace("|", "\\|").replace("<", "&lt;").split())


def _plain(value: Any) -> Any:
    """A value for JSON."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and value.is_integer():  # a count beside lines that lack it
        return int(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
