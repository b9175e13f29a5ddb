"""Table `ladders`: metrics of one package over its versions, the steps between versions, and the next bisection."""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from ..metrics import METRICS, Records
from ..stacks.variants import parts_of
from .comparisons import ratio_of
from .decide import ALPHA, AT_LEAST, Decision, Question, decide, side
from .frame import axes
from .outcomes import COUNTS, tally
from .runs import runs as runs_table
from .thresholds import LEAST, STEP_SHARE

_MOVE = re.compile(r"(\S+) (\S+) to ([^\s,]+)")
COLUMNS = ["experiment", "stack", "ladder", "factor", "from_version", "to_version", "metric", "from_value", "to_value"]
COLUMNS += ["ratio", "low", "high", "n", "significant", "whole", "neighbours", "infeasible", "moved", *COUNTS]


def ladders(
    name: str,
    package: str,
    metrics: Sequence[str],
    runs: pd.DataFrame,
    releases: Sequence[str],
    first: Sequence[str] | None = None,
) -> pd.DataFrame:
    """One line per step between neighbouring measured versions, in the order of `releases`.

    `runs` are lines of table `runs` with columns `base` and `version`. `first` are the versions that the ladder starts
    with, by default all. Steps between them are decided together from their own runs, before any bisection. Steps that
    a bisection adds are tested at the level of the step that it divides, so bisecting a step cannot make it vanish. If
    none of its parts is confirmed alone, the step has its own line, `whole`.

    `significant` says whether the step is confirmed and matters; never with one run per side. `neighbours` says that no
    measurable release lies between. `infeasible` lists versions that could not be measured, with the resolver's reason
    or why no run has a value. `moved` lists what else differs between the two, because one of them cannot be installed
    otherwise. A version that could not be measured and lies in no step has its own line, without a step.
    """
    if runs.empty:
        return pd.DataFrame(columns=COLUMNS)
    runs = runs.assign(moved=runs["moved"].fillna("") if "moved" in runs else "")
    cell_axes = [axis for axis in axes(runs) if axis != "stack"]
    cells = [
        _Cell(name, package, metric, runs_of_cell, releases, cell_axes)
        for _, runs_of_cell in runs.groupby([*cell_axes, "base"], sort=False, dropna=False)
        for metric in metrics
    ]
    began = [(cell, *pair) for cell in cells for pair in cell.pairs(releases if first is None else first)]
    parts = [(cell, *pair) for cell in cells for pair in cell.pairs(releases) if (cell, *pair) not in began]
    steps = {
        step: _step(_question(*step), decision, decision.p_corrected)
        for step, decision in zip(began, decide([_question(*step) for step in began]), strict=True)
    }
    for step, decision in zip(parts, decide([_question(*step) for step in parts]), strict=True):
        steps[step] = _step(_question(*step), decision, decision.p * len(began))
    lines = []
    for cell in cells:
        pairs = cell.pairs(releases)
        lines += [cell.line(*pair) | steps[cell, *pair] | {"whole": False} for pair in pairs]
        for before, after in cell.pairs(releases if first is None else first):
            within = [pair for pair in pairs if cell.lies_within(pair, before, after)]
            confirmed = any(steps[cell, *pair]["significant"] for pair in within)
            if (before, after) not in pairs and steps[cell, before, after]["significant"] and not confirmed:
                lines.append(cell.line(before, after) | steps[cell, before, after] | {"whole": True})
        lines += cell.without_step(pairs)
    table = pd.DataFrame(lines, columns=None if lines else COLUMNS)
    table = table.reindex(columns=list(dict.fromkeys([*table, *COLUMNS])))
    return table[["experiment", "stack", *[c for c in table if c not in ("experiment", "stack")]]]


class _Cell:
    """The runs of one cell of a ladder over all versions, for one metric."""

    def __init__(
        self,
        name: str,
        package: str,
        metric: str,
        runs: pd.DataFrame,
        releases: Sequence[str],
        cell_axes: Sequence[str],
    ) -> None:
        self.metric, self.runs, self.releases = metric, runs, releases
        self.sides = {str(version): side(group, metric) for version, group in runs.groupby("version")}
        self.impossible = infeasible(runs, metric)
        self.named = {axis: runs[axis].iloc[0] for axis in cell_axes} | {"stack": runs["base"].iloc[0]}
        self.named |= {"ladder": name, "factor": package, "metric": metric}

    def pairs(self, versions: Sequence[str]) -> list[tuple[str, str]]:
        """The neighbouring pairs among some versions that have a value, in the order of releases."""
        measured = [v for v in self.releases if v in versions and v in self.sides and self.sides[v].values]
        return list(itertools.pairwise(measured))

    def _between(self, before: str, after: str) -> Sequence[str]:
        return self.releases[self.releases.index(before) + 1 : self.releases.index(after)]

    def lies_within(self, pair: tuple[str, str], before: str, after: str) -> bool:
        """Whether the step `pair` is a part of the step from `before` to `after`."""
        span = {before, *self._between(before, after), after}
        return set(pair) <= span

    def line(self, before: str, after: str) -> dict[str, Any]:
        """A step between two versions, without its numbers."""
        apart = self._between(before, after)
        moved = [str(self.runs.loc[self.runs["version"] == v, "moved"].iloc[0]) for v in (before, after)]
        return {
            **self.named,
            "from_version": before,
            "to_version": after,
            "neighbours": all(version in self.impossible for version in apart),
            "infeasible": "; ".join(f"{v}: {self.impossible[v]}" for v in apart if v in self.impossible),
            "moved": _moved(*moved),
            **tally(self.runs[self.runs["version"].isin([before, after])]),
        }

    def without_step(self, pairs: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
        """Lines of the versions that could not be measured and lie in no step."""
        spanned = {version for pair in pairs for version in self._between(*pair)}
        return [
            self.named
            | {"from_version": version, "n": 0, "significant": False, "neighbours": False, "whole": False}
            | tally(self.runs[self.runs["version"] == version])
            | {"infeasible": f"{version}: {self.impossible[version]}"}
            for version in self.releases
            if version in self.impossible and version not in spanned
        ]


def _question(cell: _Cell, before: str, after: str) -> Question:
    """The question of a step."""
    return Question(cell.sides[before], cell.sides[after], cell.metric)


def of_versions(records: Records) -> pd.DataFrame:
    """Table `runs` of a ladder, with columns `base` and `version`."""
    table = runs_table(records)
    parts = [parts_of(stack) for stack in table["stack"]]
    return table.assign(base=[base for base, _, _ in parts], version=[version for _, _, version in parts])


def infeasible(runs: pd.DataFrame, metric: str) -> dict[str, str]:
    """The versions that cannot be installed, or whose runs have no value of the metric, with the reason."""
    reasons = {}
    for version, group in runs.groupby("version", sort=False):
        cannot = group.loc[group["outcome"] == "not_applicable", "reason"]
        if len(cannot):
            reasons[str(version)] = str(cannot.iloc[-1])
        elif not side(group, metric).values:
            reasons[str(version)] = tally(group)["why"] or f"no run has {metric}"
    return reasons


def next_versions(table: pd.DataFrame, releases: Sequence[str], impossible: Iterable[str]) -> list[str]:
    """The middle release of each step that should be narrowed down; empty when all are.

    These are: significant steps; the largest part of a step that no part confirms alone; and steps of single runs,
    which cannot be confirmed, if they are twice as large as what matters.
    """
    order = [version for version in releases if version not in set(impossible)]
    steps = table[table["to_version"].notna()]
    wanted = set()
    for step in steps.to_dict("records"):
        single_but_large = step["n"] < AT_LEAST and large(step["from_value"], step["to_value"], step["metric"], 2)
        if not step["significant"] and not single_but_large:
            continue
        part = _largest_part(step, steps, order) if step["whole"] else step
        first, last = order.index(part["from_version"]), order.index(part["to_version"])
        if last - first > 1:
            wanted.add(order[(first + last) // 2])
    return [version for version in order if version in wanted]


def _largest_part(step: Mapping[Any, Any], steps: pd.DataFrame, order: Sequence[str]) -> Mapping[Any, Any]:
    """The part of a bisected step in which the metric changes most."""
    first, last = (order.index(step[end]) for end in ("from_version", "to_version"))
    cell = [*axes(steps), "ladder", "metric"]
    parts = [
        line
        for line in steps[~steps["whole"].astype(bool)].to_dict("records")
        if all(line[name] == step[name] or pd.isna(line[name]) for name in cell)
        and first <= order.index(line["from_version"]) < order.index(line["to_version"]) <= last
    ]
    return max(parts, key=lambda line: abs(line["to_value"] - line["from_value"]))


def _moved(before: str, after: str) -> str:
    """The differences between two variants, from the differences of each from the base."""
    first, second = ({name: pins for name, *pins in _MOVE.findall(moved)} for moved in (before, after))
    base = {name: pins[0] for name, pins in (first | second).items()}
    sides = [(name, *(side.get(name, [pin])[-1] for side in (first, second))) for name, pin in sorted(base.items())]
    return ", ".join(f"{name} {old} to {new}" for name, old, new in sides if old != new)


def _step(question: Question, decision: Decision, p: float) -> dict[str, Any]:
    repeats = [pd.Series(one.values) for one in (question.baseline, question.candidate)]
    first, second = (float(values.median()) for values in repeats)
    ranges = {
        f"{end}_value_{name}": float(getattr(values, name)())
        for end, values in zip(("from", "to"), repeats, strict=True)
        for name in ("min", "max")
    }
    differs = p < ALPHA and decision.result != "same"
    return {
        "from_value": first,
        "to_value": second,
        **ranges,
        **ratio_of(asdict(decision) | {"metric": question.metric}),
        "n": decision.n,
        "significant": bool(differs and large(first, second, question.metric)),
    }


def large(first: float, second: float, metric: str, times: float = 1) -> bool:
    """Whether a step matters: it is larger than LEAST of its unit, and than STEP_SHARE of the larger side."""
    change = abs(second - first)
    least = LEAST.get(METRICS[metric].unit, 0.0)
    return bool(change > times * least and change > times * STEP_SHARE * max(abs(first), abs(second)))


def effect_in_words(line: Mapping[Any, Any], unit: str, scale: float) -> str:
    """The ratio of a step with its interval. For bytes, or if the interval reaches below zero, the difference."""
    if pd.isna(line["low"]):
        return "" if pd.isna(line["ratio"]) else f"ratio {line['ratio']:.3g}"
    if line["low"] > 0 and scale == 1:
        return f"ratio {line['ratio']:.3g} (95 % {line['low']:.3g} to {line['high']:.3g})"
    change, low, high = ((line[end] - 1) * line["from_value"] / scale for end in ("ratio", "low", "high"))
    return f"{change:+,.4g} {unit} (95 % {low:+,.4g} to {high:+,.4g})"
