"""The path grammar, read: from a run's folder to its cell, and the patterns by which a rule knows its runs."""

import functools
import re
from collections.abc import Mapping

from ..text import NAME
from .paths import STACK, VALUE, Cell, Value, pattern
from .workloads import AXES, Experiment


def parse(path: str) -> Cell:
    """Read a run's folder, relative to the folder of all runs. Values have the types of their axes.

    Raises ValueError where the path does not follow the grammar.
    """
    experiment, *levels = path.strip("/").split("/")
    *axes, last = [_level(level) for level in levels] or [None]
    known = re.fullmatch(NAME, experiment) and last is not None and None not in axes
    if not known or last is None or last[0] != "rep" or not str(last[1]).isdecimal():
        raise ValueError(f"{path}: not a run's folder; expected EXPERIMENT/key~value/…/rep~N")
    return Cell(experiment, tuple(axis for axis in axes if axis), int(last[1]))


@functools.cache
def _level(level: str) -> tuple[str, Value] | None:
    """The axis and the value of a level; None where it is none. Of ten thousand cells a hundred levels differ."""
    axis, *values = level.split("~")
    if len(values) != 1 or not VALUE.fullmatch(values[0]):
        return None
    (value,) = values
    return axis, int(value) if axis in AXES and AXES[axis].number and value.isdecimal() else value


def run_pattern(experiments: Mapping[str, Experiment]) -> str:
    """A regular expression for the folders of all runs that one command makes: all but interrupted ones and reruns."""
    alternatives = [_pattern(name, experiment, {"cache": "cold|warm"}) for name, experiment in experiments.items()]
    return f"(?:{'|'.join(alternatives) or '-'})"


def interrupted_pattern(experiments: Mapping[str, Experiment]) -> dict[str, str]:
    """Wildcard constraints of an interrupted run and its rerun, before and after the level of the cache state."""
    whole = [
        _pattern(name, found, {"cache": "CACHE"}) for name, found in experiments.items() if "cache" in found.axes()
    ]
    parts = [one.split("/cache~(?:CACHE)/") for one in whole]
    return {
        side: f"(?:{'|'.join(dict.fromkeys(part[number] for part in parts)) or '-'})"
        for number, side in enumerate(("head", "tail"))
    }


def _pattern(name: str, experiment: Experiment, fixed: Mapping[str, str]) -> str:
    """A regular expression for the folders of an experiment's runs. Levels of axes that came later may be missing."""
    levels = ""
    for axis, described in experiment.axes().items():
        value = f"(?:{fixed[axis]})" if axis in fixed else STACK if axis == "stack" else VALUE.pattern
        levels += f"(?:{axis}~{value}/)?" if described.later else f"{axis}~{value}/"
    return f"{name}/{levels}{pattern(['rep'])}"
