"""Table `ladders`, of version sweeps: one package over versions, the steps in a metric, and the next bisection."""

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from ..metrics import METRICS
from .compare import ratio
from .frame import axes
from .matters import LEAST, STEP_SHARE

# Growth of a megabyte and less, or below 0, is that of nothing: ratios are taken from there. Where such values scatter
# too much, they are taken from what would matter as a step.
_FLOOR = {"bytes": 1e6, "requests": 1.0, "s": 1e-3}
_MOVE = re.compile(r"(\S+) (\S+) to ([^\s,]+)")
COLUMNS = ["experiment", "stack", "ladder", "factor", "from_version", "to_version", "metric", "from_value", "to_value"]
COLUMNS += ["ratio", "low", "high", "n", "significant", "neighbours", "infeasible", "moved"]


def ladders(name: str, package: str, metric: str, runs: pd.DataFrame, releases: Sequence[str]) -> pd.DataFrame:
    """A line a step between versions next to each other among those that were weighed, in the order of `releases`.

    `runs` are lines of table `runs` with `base` and `version` beside them. `significant` by Welch's interval on the
    ratio, and only where the step matters. `neighbours` says that no release lies between that could be weighed;
    `infeasible` which ones could not, with the resolver's reason; `moved` what else differs between the two, because
    one of them cannot be installed otherwise. A version that could not and lies between no two that could has a line of
    its own, without a step.
    """
    if runs.empty:
        return pd.DataFrame(columns=COLUMNS)
    impossible = infeasible(runs)
    order = [version for version in releases if version not in impossible]
    runs = runs.assign(moved=runs["moved"].fillna("") if "moved" in runs else "")
    lines = []
    held = [axis for axis in axes(runs) if axis != "stack"]
    for _, cell in runs.groupby([*held, "base"], sort=False, dropna=False):
        values = {str(version): group[metric].dropna().tolist() for version, group in cell.groupby("version")}
        weighed = [version for version in releases if values.get(version)]
        known = {axis: cell[axis].iloc[0] for axis in held} | {"stack": cell["base"].iloc[0]}
        known |= {"ladder": name, "factor": package, "metric": metric}
        outside = set(impossible)
        for before, after in itertools.pairwise(weighed):
            found = _step(values[before], values[after], METRICS[metric].unit)
            apart = releases[releases.index(before) + 1 : releases.index(after)]
            line = known | {"from_version": before, "to_version": after} | found
            line["neighbours"] = order.index(after) == order.index(before) + 1
            line["infeasible"] = "; ".join(f"{v}: {impossible[v]}" for v in apart if v in impossible)
            line["moved"] = _moved(*(str(cell.loc[cell["version"] == v, "moved"].iloc[0]) for v in (before, after)))
            outside -= set(apart)
            lines.append(line)
        for version in (version for version in releases if version in outside):
            line = known | {"from_version": version, "n": 0, "significant": False, "neighbours": False}
            lines.append(line | {"infeasible": f"{version}: {impossible[version]}"})
    table = pd.DataFrame(lines, columns=None if lines else COLUMNS)
    table = table.reindex(columns=list(dict.fromkeys([*table, *COLUMNS])))
    return table[["experiment", "stack", *[c for c in table if c not in ("experiment", "stack")]]]


def infeasible(runs: pd.DataFrame) -> dict[str, str]:
    """The versions that cannot be, with the reason."""
    cannot = runs[runs["outcome"] == "not_applicable"]
    return {str(version): str(reason) for version, reason in zip(cannot["version"], cannot["reason"], strict=True)}


def next_versions(table: pd.DataFrame, releases: Sequence[str], impossible: Iterable[str]) -> list[str]:
    """For each significant step that spans other releases, the one in the middle of them; empty when all are found."""
    order = [version for version in releases if version not in set(impossible)]
    wanted = set()
    for before, after in table.loc[table["significant"].astype(bool), ["from_version", "to_version"]].itertuples(
        index=False, name=None
    ):
        first, last = order.index(before), order.index(after)
        if last - first > 1:
            wanted.add(order[(first + last) // 2])
    return [version for version in order if version in wanted]


def _moved(before: str, after: str) -> str:
    """What differs between two variants, from what each says that it differs in from their base."""
    first, second = ({name: pins for name, *pins in _MOVE.findall(said)} for said in (before, after))
    base = {name: pins[0] for name, pins in (first | second).items()}
    sides = [(name, *(side.get(name, [pin])[-1] for side in (first, second))) for name, pin in sorted(base.items())]
    return ", ".join(f"{name} {old} to {new}" for name, old, new in sides if old != new)


def _step(before: Sequence[float], after: Sequence[float], unit: str) -> dict[str, Any]:
    first, second = (float(pd.Series(values).median()) for values in (before, after))
    least = LEAST.get(unit, 0.0)
    for floor in (_FLOOR.get(unit, 0.0), least):
        found = ratio(*([max(value, floor) for value in values] for values in (before, after)))
        if found.significant:
            break
    repeats = min(len(before), len(after))
    margin = 1 if repeats > 1 else 2
    change = abs(second - first)
    matters = change > margin * least
    matters &= change > margin * STEP_SHARE * max(abs(first), abs(second))
    return {
        "from_value": first,
        "to_value": second,
        "ratio": found.ratio,
        "low": found.low,
        "high": found.high,
        "n": repeats,
        "significant": bool(matters and (found.significant or repeats < 2)),
    }
