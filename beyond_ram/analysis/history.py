"""Table `history`: each metric under every lock of a stack, oldest first, with the steps between locks."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pandas as pd

from ..metrics import METRICS
from ..metrics.base import EXACT
from ..stacks.differences import base_of, packages_in_words
from .changes import in_unit
from .decide import middle, side
from .frame import Pairs, axes, describe, key, same_but_for, varied
from .stack_differences import between

VALUES = ["series", "place", "measured_at", "metric", "value", "low", "high", "n"]
STEP = ["before", "ratio", "difference", "step_low", "step_high", "step_n", "p_corrected", "result"]
STEP += ["detectable", "packages"]
COLUMNS = ["experiment", "stack", "workload", *VALUES, *STEP, "machines"]
SHOWN = ("better", "worse")
"""Results of steps that are shown with the packages that changed."""
Line = Mapping[Any, Any]


def history(
    runs: pd.DataFrame, comparisons: pd.DataFrame, stack_differences: pd.DataFrame, pairs: Pairs
) -> pd.DataFrame:
    """One line per metric of a cell under a lock. `series` is the stack, `stack` the lock, `place` its number from 0.

    `result` is that of table `comparisons` for this lock and the previous lock that ran the cell (`before`); empty if
    there is none. `packages` lists the packages whose versions differ, for steps that are better or worse.
    """
    chains = locks_of(pairs)
    decided = {
        (key({**line, "stack": ""}), line["before"], line["after"], line["metric"]): line
        for line in comparisons[comparisons["axis"] == "stack"].to_dict("records")
    }
    lines: list[dict[str, Any]] = []
    for series, chain in chains.items():
        of_chain = runs[runs["stack"].isin(chain)]
        began = {lock: _began(of_chain[of_chain["stack"] == lock]) for lock in chain}
        for cell, group in same_but_for(of_chain, "stack"):
            for metric in _followed(group):
                before = ""
                for lock in chain:
                    value = side(group[group["stack"] == lock], metric)
                    if not value.values:
                        continue
                    mean = middle(value.values, counted=METRICS[metric].trust.startswith(EXACT))
                    line = decided.get((key({**cell, "stack": ""}), before, lock, metric))
                    lines.append(
                        cell
                        | {"stack": lock, "workload": group["workload"].iloc[0], "series": series}
                        | {"place": chain.index(lock), "measured_at": began[lock], "metric": metric}
                        | {"value": mean.mean, "low": mean.low, "high": mean.high, "n": mean.n, "before": before}
                        | (_step(line, stack_differences) if line else {})
                    )
                    before = lock
    table = pd.DataFrame(lines)
    table = table.reindex(columns=[*COLUMNS[:2], *(name for name in table if name not in COLUMNS), *COLUMNS[2:]])
    return table.fillna(dict.fromkeys(("result", "packages", "machines"), ""))


def locks_of(pairs: Pairs) -> dict[str, list[str]]:
    """The locks of each stack that has kept ones, oldest first. The current lock is the last."""
    chains: dict[str, list[str]] = {}
    for before, _ in pairs:
        if "@" in before:
            chains.setdefault(base_of(before), []).append(before)
    return {series: [*dict.fromkeys(locks), series] for series, locks in chains.items()}


def _began(runs: pd.DataFrame) -> float | None:
    """Unix time at which the first of some runs began; None if unknown."""
    if "started_at" not in runs or runs["started_at"].isna().all():
        return None
    return float(runs["started_at"].min())


def _followed(runs: pd.DataFrame) -> list[str]:
    """The decided metrics of a cell that more than one lock has."""
    workload = runs["workload"].iloc[0]
    decided = [name for name, metric in METRICS.items() if metric.decided_in(workload) and name in runs]
    return [name for name in decided if runs.loc[runs[name].notna(), "stack"].nunique() > 1]


def _step(line: Line, stack_differences: pd.DataFrame) -> dict[str, Any]:
    """The numbers of a step from its line of table `comparisons`, with the packages that changed."""
    result = line["result"]
    moved = between(stack_differences, line["before"], line["after"]) if result in SHOWN else []
    return {
        **{name: line[name] for name in ("ratio", "difference", "p_corrected", "detectable", "machines")},
        "step_low": line["low"],
        "step_high": line["high"],
        "step_n": line["n"],
        "result": result,
        "packages": packages_in_words(moved, len(moved)),
    }


def why(line: Line) -> str:
    """The packages that changed at a confirmed step. If there are several, one of them is the cause, or several
    together."""
    number = line["packages"].count(",") + 1 if line["packages"] else 0
    if not number:
        cause = "no version that is known moved"
    elif number == 1:
        cause = line["packages"]
    else:
        cause = f"one of {number} packages, or several together: {line['packages']}"
    return "; ".join(part for part in (cause, line["machines"]) if part)


def day(moment: float | None) -> str:
    """A Unix time as a date; empty if unknown."""
    return "" if moment is None or pd.isna(moment) else f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d}"


def locks_in_words(table: pd.DataFrame, stack_differences: pd.DataFrame) -> list[dict[str, Any]]:
    """The locks of each stack, oldest first: name, date of the first run, packages that changed."""
    stacks = []
    for series, group in table.groupby("series", sort=False):
        locks = group.drop_duplicates("stack").sort_values("place")
        lines, before = [], ""
        for lock, moment in locks[["stack", "measured_at"]].itertuples(index=False):
            moved = between(stack_differences, before, lock)
            words = packages_in_words(moved, len(moved)) or "no version, or not known" if before else ""
            lines.append({"lock": lock, "day": day(moment), "moved": words})
            before = lock
        stacks.append({"stack": series, "locks": lines})
    return stacks


def in_words(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The metrics of each cell over its locks, for a page. Metrics with a worse step come first, then better, then
    none."""
    conditions = [axis for axis in varied(table) if axis not in ("experiment", "stack")]
    metrics = []
    fixed = [axis for axis in axes(table) if axis != "stack"]
    for _, group in table.groupby([*fixed, "series", "metric"], sort=False, dropna=False) if len(table) else ():
        lines: list[dict[Any, Any]] = group.sort_values("place").to_dict("records")
        metric = str(lines[0]["metric"])
        where = ", ".join([str(lines[0]["experiment"]), *describe(lines[0], conditions)])
        steps = [_words(metric, line) for line in lines if line["result"] in SHOWN]
        worst = min((SHOWN[::-1].index(step["result"]) for step in steps), default=len(SHOWN))
        drawn = {"points": list(_points(metric, lines)), "first": lines[0]["stack"], "last": lines[-1]["stack"]}
        ends = [in_unit(metric, lines[end]["value"]) for end in (0, -1)]
        metrics.append(
            (worst, {"metric": METRICS[metric].label, "cell": where, "steps": steps, "ends": ends, "drawn": drawn})
        )
    return [one for _, one in sorted(metrics, key=lambda one: one[0])]


def _words(metric: str, line: Line) -> dict[str, str]:
    as_ratio = not pd.isna(line["ratio"])

    def effect(value: float) -> str:
        return f"{value:,.3g}" if as_ratio else in_unit(metric, value, signed=True)

    change = f"{effect(line['ratio'])} times" if as_ratio else effect(line["difference"])
    exact = line["step_low"] == line["step_high"]
    ends = "the same in every repeat" if exact else f"{effect(line['step_low'])} to {effect(line['step_high'])}"
    return {
        "result": line["result"],
        "change": f"{change} ({ends}, n = {line['step_n']:.0f})",
        "sides": f"{line['before']} to {line['stack']}",
        "why": why(line),
    }


def _points(metric: str, lines: Sequence[Line]) -> Iterator[dict[str, Any]]:
    """Positions of each lock's mean and interval in the chart, from 0 to 1. The largest value is at the top."""
    ends = [
        tuple(float(line["value"] if pd.isna(line[name]) else line[name]) for name in ("low", "high")) for line in lines
    ]
    least, most = min(low for low, _ in ends), max(high for _, high in ends)
    width, height = (lines[-1]["place"] - lines[0]["place"]) or 1, (most - least) or 1

    def up(value: float) -> float:
        return round((most - value) / height, 4) if most > least else 0.5

    for line, (low, high) in zip(lines, ends, strict=True):
        value = in_unit(metric, line["value"])
        sure: str = "" if pd.isna(line["low"]) else f", {in_unit(metric, low)} to {in_unit(metric, high)}"
        yield {
            "x": round((line["place"] - lines[0]["place"]) / width, 4),
            "y": up(line["value"]),
            "low": up(low),
            "high": up(high),
            "kind": line["result"] if line["result"] in SHOWN else "",
            "text": f"{line['stack']}: {value}{sure} (n = {line['n']:.0f})",
        }
