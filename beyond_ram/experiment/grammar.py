"""Read the path grammar: from a run's folder to its cell, and patterns that match a rule's runs."""

import functools
import re
from collections.abc import Mapping

from ..text import NAME
from .paths import STACK, VALUE, Cell, Value
from .workloads import AXES, Experiment


def parse(path: str) -> Cell:
    """The cell of a run's folder, given relative to the folder of all runs. Values have the types of their axes.

    Raises ValueError if the path does not follow the grammar.
    """
    experiment, *levels = path.strip("/").split("/")
    *axes, last = [_level(level) for level in levels] or [None]
    valid = re.fullmatch(NAME, experiment) and last is not None and None not in axes
    if not valid or last is None or last[0] != "rep" or not str(last[1]).isdecimal():
        raise ValueError(f"{path}: not a run's folder; expected EXPERIMENT/key~value/…/rep~N")
    return Cell(experiment, tuple(axis for axis in axes if axis), int(last[1]))


@functools.cache
def _level(level: str) -> tuple[str, Value] | None:
    """Axis and value of a level; None if it is invalid. Cached, because ten thousand cells share some hundred
    levels."""
    axis, *values = level.split("~")
    if len(values) != 1 or not VALUE.fullmatch(values[0]):
        return None
    (value,) = values
    return axis, int(value) if axis in AXES and AXES[axis].number and value.isdecimal() else value


def run_pattern(experiments: Mapping[str, Experiment]) -> str:
    """A regular expression for the folders of all runs that one command makes: all but interrupted ones and reruns."""
    paths = ["/".join([name, *_levels(one, "cold|warm")]) for name, one in experiments.items()]
    return f"(?:{'|'.join(paths) or '-'})"


def interrupted_pattern(experiments: Mapping[str, Experiment]) -> dict[str, str]:
    """Wildcard constraints of an interrupted run and its rerun, before and after the level of the cache state."""
    heads, tails = [], []
    for name, experiment in experiments.items():
        if "cache" in (axes := list(experiment.axes())):
            levels, place = _levels(experiment), axes.index("cache")
            heads.append("/".join([name, *levels[:place]]))
            tails.append("/".join(levels[place + 1 :]))
    patterns = {"head": heads, "tail": tails}
    return {part: f"(?:{'|'.join(dict.fromkeys(each)) or '-'})" for part, each in patterns.items()}


def _levels(experiment: Experiment, cache: str = "") -> list[str]:
    """A regular expression for each level of an experiment's runs."""
    values = {"stack": STACK, "cache": f"(?:{cache})"}
    return [f"{axis}~{values.get(axis, VALUE.pattern)}" for axis in (*experiment.matrix.values(), "rep")]
