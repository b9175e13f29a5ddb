"""The result of a gate: ten lines for the terminal, and the files gate.json, gate.md and gate.xml."""

import functools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

import pandas as pd

from ..analysis.changes import changes, counts, in_words
from ..analysis.rule import must_be_decided, same_in_words, threshold_in_words
from ..decisions.rule import Result, rare
from ..measure.gate import BASELINE, SIDES
from ..metrics import METRICS
from ..metrics.runs import FAILED
from .wheels import Requirement

STATUS: Mapping[Result, int] = {"better": 0, "same": 0, "worse": 1, "undecided": 2}
"""The exit status of each result."""
HEADLINES: Mapping[Result, str] = {
    "better": "better, nothing worse",
    "same": "nothing worse",
    "worse": "worse",
    "undecided": "undecided",
}
LINES = 10
# Signs of Markdown, and what GitHub makes live: @user, #1, an address.
_MARKUP = re.compile(r"[\\`*\[\]|~$!]|_(?!\w)|(?<!\w)_")
_LIVE = re.compile(r"[@#](?=\w)|:(?=//)|\bwww\.(?=\w)|\b(?:GH|gh)-(?=\d)", re.IGNORECASE)
_NUMBERS = ("baseline", "candidate", "ratio", "difference", "low", "high", "p", "p_corrected", "n", "detectable")


@dataclass(frozen=True)
class Gate:
    """The runs of a gate and their comparisons."""

    requested: Mapping[str, Sequence[Requirement]]
    """The requirements of each side."""
    runs: pd.DataFrame
    table: pd.DataFrame
    """Table `comparisons`."""
    used_s: float
    budget_s: float
    other_differences: Mapping[str, str] = field(default_factory=dict)
    """Other packages whose versions differ between the sides, by base stack."""
    moved_packages: Mapping[str, str] = field(default_factory=dict)
    """Other packages that the requirements moved, by stack of a side."""
    cells: Sequence[str] = ()
    """The experiment of each measured cell."""
    seed: int | None = None
    """Seed of the order of the runs."""

    @functools.cached_property
    def changes(self) -> pd.DataFrame:
        """Table `changes`, worst first; `not_completed` also names other packages that differ."""
        table = changes(self.table)
        others = table["before"].str.removesuffix(f".{BASELINE}").map(self.other_differences)
        also = (f"also differs: {other}" if isinstance(other, str) else "" for other in others)
        notes = ["; ".join(filter(None, both)) for both in zip(table["not_completed"], also, strict=True)]
        table = table.assign(not_completed=notes, threshold=table["metric"].map(threshold_in_words))
        return table.reset_index(drop=True)

    @functools.cached_property
    def rows(self) -> list[tuple[dict[Any, Any], dict[str, str]]]:
        """Each change as its line and as text. A cell is described by the axes that vary in its experiment."""
        words = dict[int, dict[str, str]]()
        for _, lines in self.changes.groupby("experiment"):
            words |= zip(lines.index, in_words(lines), strict=True)
        return [(line, words[number]) for number, line in enumerate(self.changes.to_dict("records"))]

    @property
    def result(self) -> Result:
        """Of the metrics that must be decided: `worse` if one is, `undecided` if one is, else `better` or `same`."""
        results = set(self.table.loc[self.table["metric"].map(must_be_decided).astype(bool), "result"])
        if "worse" in results:
            return "worse"
        if self.table.empty or "undecided" in results or self.without:
            return "undecided"
        return "better" if "better" in results else "same"

    @property
    def missed(self) -> list[str]:
        """What `same` cannot have seen, in a sentence; none if nothing is the same."""
        same = self.table[self.table["result"] == "same"]
        return [f"same: {same_in_words(same['metric'], int(same['n'].min()))}"] if len(same) else []

    @property
    def without(self) -> list[str]:
        """Cells without a comparison: not applicable on a side, or failing on both."""
        notes = []
        left_out = self.runs[self.runs["outcome"] == "not_applicable"]
        for (experiment, stack), lines in left_out.groupby(["experiment", "stack"], sort=False):
            notes.append(f"{experiment}, {stack}: not applicable: {lines['reason'].iloc[0]}")
        always = (self.table["metric"] == FAILED) & (self.table[["baseline", "candidate"]].min(axis=1) == 1)
        for experiment in self.table.loc[always, "experiment"]:
            failed = self.runs[(self.runs["experiment"] == experiment) & self.runs["reason"].ne("")]
            notes.append(f"{experiment}: fails on both sides: {failed['reason'].iloc[0]}")
        return notes

    @property
    def built(self) -> list[dict[str, Any]]:
        """The requirements of both sides; of wheels with version and hash."""
        fields = ("package", "version", "sha256")
        return [{"side": side, "requirement": one.text, **{name: getattr(one, name) for name in fields}}
                for side, requirements in self.requested.items() for one in requirements]  # fmt: skip

    def as_json(self) -> dict[str, Any]:
        """gate.json."""
        return {
            "result": self.result,
            "changes": [
                {"cell": words["cell"], "metric": line["metric"], "result": line["result"]}
                | {"reason": line["reason"], "threshold": line["threshold"]}
                | {name: _plain(line[name]) for name in _NUMBERS}
                | {"must_be_decided": must_be_decided(line["metric"])}
                | ({"rare": rare(line["n"])} if line["result"] == "same" else {})
                for line, words in self.rows
            ],
            "says_nothing": self.without,
            "n": {str(name): int(n) for name, n in self.runs.groupby("stack", sort=False)["rep"].max().items()},
            "measuring_s": round(self.used_s, 1),
            "budget_s": self.budget_s,
            "seed": self.seed,
            "requirements": self.built,
            "moved": dict(self.moved_packages),
            "differs_beside": dict(self.other_differences),
        }

    def lines(self) -> list[str]:
        """The result in at most ten lines, worst first."""
        candidate, baseline = (" ".join(one.text for one in self.requested[side]) for side in reversed(SIDES))
        clocks = any(line["result"] == "worse" and not must_be_decided(line["metric"]) for line, _ in self.rows)
        slower = ", but slower" if clocks and self.result != "worse" else ""
        head = [f"{HEADLINES[self.result]}{slower}: {candidate} compared with {baseline}"]
        notes = [f"{base}: also differs: {what}" for base, what in self.other_differences.items()]
        notes = [*[*self.without, *notes][:2], *self.missed]
        used = f"{self.used_s / 60:.1f} of {self.budget_s / 60:g} minutes"
        cells = f"{len(self.cells)} cell{'s' * (len(self.cells) > 1)}"
        last = f"{counts(self.changes)}; {cells}, {len(self.runs)} runs in {used}"
        shows = {False: ("worse",), True: ("worse", "undecided", "better")}
        relevant = [words for line, words in self.rows if line["result"] in shows[must_be_decided(line["metric"])]]
        room = LINES - len(head) - len(notes) - 1
        shown = relevant if len(relevant) <= room else relevant[: room - 1]
        more = [f"and {len(relevant) - len(shown)} more"] if len(shown) < len(relevant) else []
        return [*head, *map(_sentence, shown), *more, *notes, last]

    def markdown(self) -> str:
        """gate.md: the ten lines, and what was built."""
        first, *rest = self.lines()
        lines = [f"**beyond-ram gate: {_escaped(first)}**", "", *(f"- {_escaped(line)}" for line in rest), ""]
        lines += ["Built and installed:", ""]
        for one in self.built:
            wheel = f", wheel of version {one['version']}, SHA-256 `{one['sha256']}`" if one["sha256"] else ""
            lines.append(f"- {one['side']}: {_code(one['requirement'])}{wheel}")
        lines += [f"- {stack}: also moved: {_escaped(what)}" for stack, what in self.moved_packages.items()]
        others = self.other_differences.items()
        lines += [f"- {base}: also differs between the sides: {_escaped(what)}" for base, what in others]
        return "\n".join([*lines, ""])

    def junit(self) -> ElementTree.Element:
        """gate.xml: a test case per cell and metric."""
        suite = ElementTree.Element("testsuite", {"name": "beyond-ram gate"})
        for line, words in self.rows:
            case = ElementTree.SubElement(suite, "testcase", {"classname": words["cell"], "name": str(line["metric"])})
            if line["result"] == "worse" and must_be_decided(line["metric"]):
                ElementTree.SubElement(case, "failure", {"message": _sentence(words)})
            elif line["result"] == "undecided":
                ElementTree.SubElement(case, "skipped", {"message": _sentence(words)})
        kinds = {"tests": "testcase", "failures": "testcase/failure", "skipped": "testcase/skipped"}
        suite.attrib |= {name: str(len(suite.findall(path))) for name, path in kinds.items()} | {"errors": "0"}
        return suite


def _sentence(words: Mapping[str, str]) -> str:
    """A change in one line."""
    undecided = words["result"] == "undecided"
    certainty = f"{words['interval']}, n = {words['n']}" if words["interval"] and not undecided else f"n = {words['n']}"
    why = words["notes"] if words["metric"] == METRICS[FAILED].label else ""
    notes = [words["reason"], f"detectable: {words['detectable']}" if words["detectable"] else "", why]
    change = f"{words['baseline']} to {words['candidate']}, {words['effect']} ({certainty})"
    return "; ".join([f"{words['result']}: {words['metric']}, {words['cell']}: {change}", *filter(None, notes)])


def _escaped(text: str) -> str:
    """A text for Markdown, also in a table: shown as text, without links, pictures, mentions and references."""
    text = _MARKUP.sub(r"\\\g<0>", " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;"))
    return _LIVE.sub("\\g<0>&#8203;", text)  # GitHub makes links of these after the Markdown


def _code(text: str) -> str:
    """A text as code in Markdown."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"


def _plain(value: Any) -> Any:
    """A value for JSON."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, float) and value.is_integer():  # a count, beside lines without one
        return int(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value
