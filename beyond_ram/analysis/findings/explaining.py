"""Findings about growth: its size, repeated work, releases."""

import math
from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from ...experiment import AXES
from ...metrics import METRICS
from ...units import GB, MB, amount
from ..decide import AT_LEAST, strength
from ..frame import describe
from ..growth import in_words, missing_mb
from ..holders import cause_in_words
from ..thresholds import EPOCH_BYTES, GROWN_BYTES, SHARE
from .finding import Advised, Bar, Effect, Finding, Line, Scope, Source, Tables, failed, lines_of, reads

# Columns that name a cell of table `growth`, besides its stack.
_CELL = ("experiment", *(axis for axis in AXES if axis != "stack"))


@reads("growth")
def _growth(tables: Tables) -> Iterator[Finding]:
    """How memory grows with the input: first the compared pairs of stacks, then all other stacks."""
    growth = tables["growth"]
    lines = lines_of(growth[growth["cache"] == "cold"])
    first = {_cell(line, line["stack"]): place for place, line in reversed([*enumerate(lines)])}
    paired = set()
    for place, line in enumerate(lines):
        other = first.get(_cell(line, line["against"]))
        if line["difference_result"] not in ("better", "worse") or other is None or missing_mb(line):
            continue
        paired |= {place, other}
        ends = {name: line[f"difference_{name}"] / 1000 for name in ("low", "high")}
        before, after = (lines[at]["anon_slope_mb_per_gb"] / 1000 for at in (other, place))
        apart = line["difference_mb_per_gb"] / 1000
        effect = Effect("anon_slope_mb_per_gb", before, after, difference=apart, **ends, n=int(line["n"]))
        better = line["difference_result"] == "better"
        stacks = (str(line["stack"]), str(line["against"]))
        choice, instead = stacks if better else stacks[::-1]
        worse = lines[other] if better else line
        yield Finding(
            kind="growth difference",
            subject=stacks[0],
            baseline=stacks[1],
            effects=(effect,),
            scope=_where(line),
            advice=Advised((choice,), instead, better=("anon_slope_mb_per_gb",)),
            facts={"lines": (lines[other], line), "cause": _cause(tables, worse), "worse": worse["stack"]},
            figure="growth_by_input",
            strength=math.exp(line["difference_strength"]),
            bars=(_slope(lines[other]), _slope(line)),
            seen=(lines[other], line),
            cause=("growth", *stacks[::-1]),
        )
    for place, line in enumerate(lines):
        if place not in paired:
            yield Finding(
                kind="growth",
                subject=str(line["stack"]),
                scope=_where(line),
                facts={"line": line, "cause": _cause(tables, line)},
                figure="growth_by_input",
                strength=math.exp(_surely_grows(line)),
                seen=(line,),
                cause=("growth", str(line["stack"]), str(line["anon_shape"])),
            )


def _cause(tables: Tables, line: Line) -> str:
    """What held the memory of a line that grows, in words; empty if that is not known."""
    return cause_in_words(tables.get("holders"), line) if line["anon_shape"] in ("straight", "grows") else ""


def _where(line: Line) -> Scope:
    return Scope(str(line["experiment"]), (f"mode {line['mode']}", f"corpus {line['corpus']}"), failed=failed(line))


def _slope(line: Line) -> Bar:
    """The slope of a line if growth is confirmed, else its level in words."""
    if line["anon_shape"] not in ("straight", "grows"):
        level = line["anon_shape"] == "levels off"
        words = f"levels off at {line['anon_level_mb']:,.0f} MB" if level else in_words(line, short=True)
        return Bar(str(line["stack"]), 0.0, words)
    value = line["anon_slope_mb_per_gb"] / 1000
    return Bar(str(line["stack"]), max(0.0, value), f"{value:,.3g} MB per MB of text")


def _cell(line: Line, stack: object) -> tuple[str, ...]:
    """The cell of a line with its stack replaced."""
    return (str(stack), *(str(line[axis]) for axis in _CELL if axis in line))


def _surely_grows(line: Line) -> float:
    """Lower bound of growth over the measured input: log of the ratio to its start."""
    if line["anon_shape"] not in ("straight", "grows") or missing_mb(line):
        return 0.0
    start = line["anon_intercept_mb"]
    low, high = (line[f"anon_slope_mb_per_gb_{end}"] * line["bytes_in_max"] / GB for end in ("low", "high"))
    return strength(low, high, max(start, 0.0), GROWN_BYTES / MB, as_ratio=False)


@reads("regrowth")
def _regrowth(tables: Tables) -> Iterator[Finding]:
    """Repeated work whose memory keeps growing."""
    regrowth = tables["regrowth"]
    for line in lines_of(regrowth[regrowth["regrowth"].eq("grows") & regrowth["slope_bytes_low"].gt(0)]):
        conditions = tuple(describe(line, ("subject", "case", "between")))
        low, high = (line[f"slope_bytes_{end}"] * line["epochs_read"] for end in ("low", "high"))
        start = max(line["first_epoch_bytes"], 0.0)
        yield Finding(
            kind="regrowth",
            subject=str(line["stack"]),
            scope=Scope(str(line["experiment"]), conditions, failed=failed(line)),
            facts={"line": line},
            strength=math.exp(strength(low, high, start, EPOCH_BYTES, as_ratio=False)),
            figure="memory_by_epoch",
            seen=(line,),
            cause=("epochs", str(line["stack"]), *conditions),
        )


@reads("ladders")
def _version_steps(tables: Tables) -> Iterator[Finding]:
    """The releases between which a metric changed."""
    steps = tables["ladders"]
    steps = steps[steps["significant"].astype(bool) & (steps["n"] >= AT_LEAST)]
    for line in lines_of(steps):
        if line["low"] <= 1 <= line["high"]:
            continue
        unit = METRICS[line["metric"]].unit
        release = f"{line['factor']} {line['to_version']}"
        sides = (("from_version", "from_value"), ("to_version", "to_value"))
        axes = (axis for axis in AXES if axis not in ("experiment", "stack") and axis in line)
        yield Finding(
            kind="version step",
            subject=release,
            baseline=str(line["from_version"]),
            effects=(_step(line, unit),),
            scope=Scope(str(line["experiment"]), tuple(describe(line, axes)), failed=failed(line)),
            advice=_version(line, steps),
            facts={
                "package": str(line["factor"]),
                "stack": str(line["stack"]),
                "neighbours": bool(line["neighbours"]),
                "moved": line["moved"] if isinstance(line.get("moved"), str) else "",
            },
            strength=_sure_factor(line["low"], line["high"]),
            figure="versions",
            bars=tuple(
                Bar(str(line[version]), float(line[value]), amount(line[value], unit)) for version, value in sides
            ),
            seen=(line,),
            cause=("versions", str(line["factor"]), str(line["from_version"]), str(line["to_version"])),
        )


def _step(line: Line, unit: str) -> Effect:
    """The change of a step: of bytes, or if the interval reaches below zero, as a difference."""
    before, ratio, low, high = (float(line[name]) for name in ("from_value", "ratio", "low", "high"))
    effect = Effect(line["metric"], before, line["to_value"], ratio, low=low, high=high, n=int(line["n"]))
    if low > 0 and unit != "bytes":
        return effect
    change, low, high = ((end - 1) * before for end in (ratio, low, high))
    return replace(effect, ratio=math.nan, difference=change, low=low, high=high)


def _version(line: Line, steps: pd.DataFrame) -> Advised | None:
    """The better of two releases. None if neither is better, or if another step leads to a better one."""
    lower = line["to_value"] < line["from_value"]
    better = {"lower": lower, "higher": not lower}.get(METRICS[line["metric"]].direction)
    if better is None:
        return None
    mine = steps[
        steps["ladder"].eq(line["ladder"]) & steps["stack"].eq(line["stack"]) & steps["metric"].eq(line["metric"])
    ]
    values = [*mine["from_value"], *mine["to_value"]]
    best = min(values) if METRICS[line["metric"]].direction == "lower" else max(values)
    if best not in (line["from_value"], line["to_value"]):
        return None
    releases = _as_good(line, mine, better=better)
    instead = line["from_version"] if better else line["to_version"]
    return Advised(tuple(f"{line['factor']} {one}" for one in releases), str(instead), better=(line["metric"],))


def _as_good(line: Line, steps: pd.DataFrame, *, better: bool) -> list[str]:
    """The releases on the better side of a step: up to the next confirmed step, and again from a step that reverts
    it."""
    every = lines_of(steps)
    later = every[[*map(_ends, every)].index(_ends(line)) + 1 :]
    if better:
        until = later[0]["from_version"] if later else None
        first = str(line["to_version"])
        return [f"{first} or later" if until is None else first if until == first else f"{first} to {until}"]
    lower = line["from_value"] < line["to_value"]
    best = float(line["from_value"])
    back = [s for s in later if (s["to_value"] <= best * (1 + SHARE) if lower else s["to_value"] >= best * (1 - SHARE))]
    back_for_good = back[:1] if back and back[0] is later[-1] else []
    return [str(line["from_version"]), *(f"{step['to_version']} or later" for step in back_for_good)]


def _ends(line: Line) -> tuple[str, str]:
    return str(line["from_version"]), str(line["to_version"])


def _sure_factor(low: float, high: float) -> float:
    """The end of a ratio's interval nearest to 1, as a factor; 1 if unknown."""
    if pd.isna(low) or low <= 0:
        return 1 / high if 0 < high < 1 else 1.0
    return math.exp(strength(math.log(low), math.log(high), 0.0))


SOURCES: tuple[Source, ...] = (_growth, _version_steps, _regrowth)
