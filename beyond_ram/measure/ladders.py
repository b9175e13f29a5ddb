"""Version ladders: a run as the search reads it, and table `ladders`, with the steps that the search has confirmed."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pandas as pd

from ..analysis.decide import side
from ..analysis.frame import axes
from ..analysis.outcomes import COUNTS, tally
from ..analysis.runs import runs as runs_table
from ..decisions.rule import LOOKS
from ..experiment import Cell
from ..metrics import Records
from ..records.tables import RunFiles
from ..stacks.variants import parts_of
from .plan import NOT_INSTALLABLE, Member, Run
from .scripts import numbers_of
from .search import Search

_MOVE = re.compile(r"(\S+) (\S+) to ([^\s,]+)")
COLUMNS = ["experiment", "stack", "ladder", "factor", "from_version", "to_version", "metric", "from_value", "to_value"]
COLUMNS += ["ratio", "low", "high", "n", "result", "whole", "neighbours", "infeasible", "moved", *COUNTS]

MOST = LOOKS[3]
"""Fresh runs of each side of a pair. A ladder has no budget, and what is undecided after these is close."""


def run_of(cell: Cell, files: RunFiles, member: Member, block: str) -> Run:
    """A run of a cell as the search reads it."""
    record, events = files
    outcome = NOT_INSTALLABLE if record["outcome"] == "not_applicable" else str(record["outcome"])
    values = numbers_of(record, events) if record["completed_work"] else {}
    began, reason = record.get("started_at") or 0.0, str(record.get("reason", ""))
    ended = began + (record["duration_s"] or 0.0)
    return Run(member, cell.rep, block, outcome, reason, None, values, began, ended, cell.path)


def steps_of(name: str, package: str, search: Search, runs: pd.DataFrame, releases: Sequence[str]) -> pd.DataFrame:
    """One line per two neighbouring measured versions of one cell, in the order of `releases`.

    `runs` are the lines of `of_versions`. `result`: what fresh runs of both have decided; `undecided` where the search
    has not compared them. If it has compared the first and the last version and confirmed no step between them, these
    have a line of their own, `whole`. `neighbours` says that no measurable release lies between. `infeasible` lists
    versions that could not be measured, with the resolver's reason or why no run has a value. `moved` lists what else
    differs between the two, because one of them cannot be installed otherwise. A version that could not be measured and
    lies between no two has its own line.
    """
    first = runs.iloc[0]
    cell = {axis: first[axis] for axis in axes(runs) if axis != "stack"} | {"stack": first["base"]}
    groups = {str(version): group for version, group in runs.groupby("version", sort=False)}
    lines = []
    for metric in search.metrics:
        values = {version: side(groups[version], metric).values for version in search.sides if version in groups}
        impossible = {version: _reason(groups[version], metric) for version, own in values.items() if not own}
        measured = [version for version in values if version not in impossible]
        pairs = {(pair.first, pair.second): pair for pair in (*search.ends, *search.pairs, *search.late_pairs)
                 if metric in search.decisions(pair)}  # fmt: skip
        steps = {sides: step for sides, pair in pairs.items() for step in search.steps_of(pair)
                 if step.interval.metric == metric}  # fmt: skip
        alone, neighbours = set(impossible), [*pairwise(measured)]
        ends = {(pair.first, pair.second) for pair in search.ends} & pairs.keys()
        whole = [*ends - {*neighbours}] if steps.keys() <= ends else []
        for before, after in [*neighbours, *whole]:
            between, step = _between(releases, before, after), steps.get((before, after))
            alone -= {*between}
            both = [pd.Series(values[version]) for version in (before, after)]
            lines.append(cell | {
                "ladder": name, "factor": package, "metric": metric, "from_version": before, "to_version": after,
                "from_value": both[0].median(), "to_value": both[1].median(),
                **{f"{end}_value_{of}": getattr(one, of)() for end, one in zip(("from", "to"), both, strict=True)
                   for of in ("min", "max")},
                **(step.ratio if step else {}), "n": step.n if step else min(map(len, both)),
                "result": search.decisions(pairs[before, after])[metric].result if (before, after) in pairs
                else "undecided", "whole": (before, after) in whole,
                "neighbours": all(version in impossible for version in between),
                "infeasible": "; ".join(f"{one}: {impossible[one]}" for one in between if one in impossible),
                "moved": _moved(*(_text(groups[version].iloc[0].get("moved")) for version in (before, after))),
                **tally(groups[before], groups[after]),
            })  # fmt: skip
        lines += [
            cell | {"ladder": name, "factor": package, "metric": metric, "from_version": version, "n": 0,
                    "result": "undecided", "neighbours": False, "whole": False, **tally(groups[version]),
                    "infeasible": f"{version}: {impossible[version]}"}
            for version in impossible if version in alone
        ]  # fmt: skip
    table = pd.DataFrame(lines)
    table = table.reindex(columns=list(dict.fromkeys([*table, *COLUMNS])))
    return table[["experiment", "stack", *[c for c in table if c not in ("experiment", "stack")]]]


def _between(releases: Sequence[str], before: str, after: str) -> Sequence[str]:
    return releases[releases.index(before) + 1 : releases.index(after)]


def of_versions(records: Records) -> pd.DataFrame:
    """Table `runs` of a ladder, with columns `base` and `version`."""
    table = runs_table(records)
    parts = [parts_of(stack) for stack in table["stack"]]
    return table.assign(base=[base for base, _, _ in parts], version=[version for _, _, version in parts])


def _reason(runs: pd.DataFrame, metric: str) -> str:
    """Why a version has no value: it cannot be installed, or no run has one."""
    cannot = runs.loc[runs["outcome"] == "not_applicable", "reason"]
    return str(cannot.iloc[-1]) if len(cannot) else tally(runs)["not_completed"] or f"no run has {metric}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _moved(before: str, after: str) -> str:
    """The differences between two variants, from the differences of each from the base."""
    first, second = ({name: pins for name, *pins in _MOVE.findall(moved)} for moved in (before, after))
    base = {name: pins[0] for name, pins in (first | second).items()}
    sides = [(name, *(side.get(name, [pin])[-1] for side in (first, second))) for name, pin in sorted(base.items())]
    return ", ".join(f"{name} {old} to {new}" for name, old, new in sides if old != new)
