"""Table `ladders`, of version ladders: one package over versions, the steps in a metric, and the next bisection."""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from ..metrics import METRICS, Records
from ..stacks.variants import parts_of
from .comparisons import ratio_of
from .decide import AT_LEAST, Decision, Question, decide, side
from .frame import axes
from .outcomes import COUNTS, tally
from .runs import runs as runs_table
from .thresholds import LEAST, STEP_SHARE

_MOVE = re.compile(r"(\S+) (\S+) to ([^\s,]+)")
COLUMNS = ["experiment", "stack", "ladder", "factor", "from_version", "to_version", "metric", "from_value", "to_value"]
COLUMNS += ["ratio", "low", "high", "n", "significant", "neighbours", "infeasible", "moved", *COUNTS]


def ladders(name: str, package: str, metric: str, runs: pd.DataFrame, releases: Sequence[str]) -> pd.DataFrame:
    """A line a step between versions next to each other among those that were weighed, in the order of `releases`.

    `runs` are lines of table `runs` with `base` and `version` beside them. `significant` where the step is decided,
    corrected for all steps of this ladder, and matters: never from one run a side. `neighbours` says that no release
    lies between that could be weighed; `infeasible` which ones could not, with the resolver's reason, or why no run of
    them has a value; `moved` what else differs between the two, because one of them cannot be installed otherwise. A
    version that could not and lies between no two that could has a line of its own, without a step.
    """
    if runs.empty:
        return pd.DataFrame(columns=COLUMNS)
    runs = runs.assign(moved=runs["moved"].fillna("") if "moved" in runs else "")
    lines: list[dict[str, Any]] = []
    questions: list[Question] = []
    held = [axis for axis in axes(runs) if axis != "stack"]
    for _, cell in runs.groupby([*held, "base"], sort=False, dropna=False):
        sides = {str(version): side(group, metric) for version, group in cell.groupby("version")}
        weighed = [version for version in releases if version in sides and sides[version].values]
        cell_of_base = {axis: cell[axis].iloc[0] for axis in held} | {"stack": cell["base"].iloc[0]}
        cell_of_base |= {"ladder": name, "factor": package, "metric": metric}
        impossible = infeasible(cell, metric)
        order = [version for version in releases if version not in impossible]
        outside = set(impossible)
        for before, after in itertools.pairwise(weighed):
            questions.append(Question(sides[before], sides[after], metric))
            apart = releases[releases.index(before) + 1 : releases.index(after)]
            line = cell_of_base | {"from_version": before, "to_version": after}
            line["neighbours"] = order.index(after) == order.index(before) + 1
            line["infeasible"] = "; ".join(f"{v}: {impossible[v]}" for v in apart if v in impossible)
            line["moved"] = _moved(*(str(cell.loc[cell["version"] == v, "moved"].iloc[0]) for v in (before, after)))
            outside -= set(apart)
            lines.append(line | tally(cell[cell["version"].isin([before, after])]))
        for version in (version for version in releases if version in outside):
            line = cell_of_base | {"from_version": version, "n": 0, "significant": False, "neighbours": False}
            line |= tally(cell[cell["version"] == version])
            lines.append(line | {"infeasible": f"{version}: {impossible[version]}"})
    steps = [line for line in lines if "to_version" in line]
    for line, question, decision in zip(steps, questions, decide(questions), strict=True):
        line |= _step(question, decision)
    table = pd.DataFrame(lines, columns=None if lines else COLUMNS)
    table = table.reindex(columns=list(dict.fromkeys([*table, *COLUMNS])))
    return table[["experiment", "stack", *[c for c in table if c not in ("experiment", "stack")]]]


def of_versions(records: Records) -> pd.DataFrame:
    """Table `runs` of a ladder's runs, with base and version beside each."""
    table = runs_table(records)
    parts = [parts_of(stack) for stack in table["stack"]]
    return table.assign(base=[base for base, _, _ in parts], version=[version for _, _, version in parts])


def infeasible(runs: pd.DataFrame, metric: str) -> dict[str, str]:
    """The versions that cannot be, or of which no run has a value of the metric, with the reason."""
    reasons = {}
    for version, group in runs.groupby("version", sort=False):
        cannot = group.loc[group["outcome"] == "not_applicable", "reason"]
        if len(cannot):
            reasons[str(version)] = str(cannot.iloc[-1])
        elif not side(group, metric).values:
            reasons[str(version)] = tally(group)["why"] or f"no run has {metric}"
    return reasons


def next_versions(table: pd.DataFrame, releases: Sequence[str], impossible: Iterable[str]) -> list[str]:
    """For each step worth a closer look that spans other releases, the one in the middle; empty when all are found.

    Worth one are significant steps; of single runs, of which none is, those that are twice as large as what matters.
    """
    order = [version for version in releases if version not in set(impossible)]
    wanted = set()
    for step in table[table["to_version"].notna()].to_dict("records"):
        looked_at = step["n"] < AT_LEAST and large(step["from_value"], step["to_value"], step["metric"], 2)
        first, last = order.index(step["from_version"]), order.index(step["to_version"])
        if (step["significant"] or looked_at) and last - first > 1:
            wanted.add(order[(first + last) // 2])
    return [version for version in order if version in wanted]


def _moved(before: str, after: str) -> str:
    """What differs between two variants, from what each says that it differs in from their base."""
    first, second = ({name: pins for name, *pins in _MOVE.findall(moved)} for moved in (before, after))
    base = {name: pins[0] for name, pins in (first | second).items()}
    sides = [(name, *(side.get(name, [pin])[-1] for side in (first, second))) for name, pin in sorted(base.items())]
    return ", ".join(f"{name} {old} to {new}" for name, old, new in sides if old != new)


def _step(question: Question, decision: Decision) -> dict[str, Any]:
    repeats = [pd.Series(one.values) for one in (question.baseline, question.candidate)]
    first, second = (float(values.median()) for values in repeats)
    ranges = {
        f"{end}_value_{name}": float(getattr(values, name)())
        for end, values in zip(("from", "to"), repeats, strict=True)
        for name in ("min", "max")
    }
    differs = decision.confirmed and decision.result != "same"
    return {
        "from_value": first,
        "to_value": second,
        **ranges,
        **ratio_of(asdict(decision) | {"metric": question.metric}),
        "n": decision.n,
        "significant": bool(differs and large(first, second, question.metric)),
    }


def large(first: float, second: float, metric: str, times: float = 1) -> bool:
    """Whether a step matters: more than the least in its unit, and than a share of the larger side."""
    change = abs(second - first)
    least = LEAST.get(METRICS[metric].unit, 0.0)
    return bool(change > times * least and change > times * STEP_SHARE * max(abs(first), abs(second)))


def effect_in_words(line: Mapping[Any, Any], unit: str, scale: float) -> str:
    """The ratio of a step with its interval; where that would reach below none, the difference."""
    if pd.isna(line["low"]):
        return "" if pd.isna(line["ratio"]) else f"ratio {line['ratio']:.3g}"
    if line["low"] > 0:
        return f"ratio {line['ratio']:.3g} (95 % {line['low']:.3g} to {line['high']:.3g})"
    change, low, high = ((line[end] - 1) * line["from_value"] / scale for end in ("ratio", "low", "high"))
    return f"{change:+,.4g} {unit} (95 % {low:+,.4g} to {high:+,.4g})"
