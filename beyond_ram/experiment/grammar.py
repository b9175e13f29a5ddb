"""The path grammar, read: from a run's folder to its cell, and the patterns by which a rule knows its runs."""

from collections.abc import Mapping

from .paths import STACK, Cell, Value, pattern
from .workloads import AXES, Experiment


def parse(path: str) -> Cell:
    """Read a run's folder, relative to the folder of all runs. Values have the types of their axes.

    Raises ValueError where the path does not follow the grammar.
    """
    experiment, *levels = path.strip("/").split("/")
    pairs = [tuple(level.split("~")) for level in levels]
    if not pairs or any(len(pair) != 2 for pair in pairs) or pairs[-1][0] != "rep" or not pairs[-1][1].isdigit():
        raise ValueError(f"{path}: not a run's folder; expected EXPERIMENT/key~value/…/rep~N")
    return Cell(experiment, tuple((axis, _typed(axis, value)) for axis, value in pairs[:-1]), int(pairs[-1][1]))


def _typed(axis: str, value: str) -> Value:
    return int(value) if axis in AXES and AXES[axis].number and value.isdigit() else value


def run_pattern(experiments: Mapping[str, Experiment]) -> str:
    """A regular expression for the folders of all runs that one command makes: all but interrupted ones and reruns."""
    alternatives = [_pattern(name, experiment, {"cache": "cold|warm"}) for name, experiment in experiments.items()]
    return f"(?:{'|'.join(alternatives) or '-'})"


def interrupted_pattern(experiments: Mapping[str, Experiment]) -> dict[str, str]:
    """Wildcard constraints of an interrupted run and its rerun, before and after the level of the cache state."""
    named = {name: e for name, e in experiments.items() if "cache" in e.axes()}
    whole = "|".join(_pattern(name, experiment, {"cache": "CACHE"}) for name, experiment in named.items())
    heads, tails = zip(*(one.split("cache~(?:CACHE)") for one in whole.split("|")), strict=True) if whole else ((), ())
    return {
        "head": f"(?:{'|'.join(dict.fromkeys(head.rstrip('/') for head in heads)) or '-'})",
        "tail": f"(?:{'|'.join(dict.fromkeys(tail.lstrip('/') for tail in tails)) or '-'})",
    }


def _pattern(name: str, experiment: Experiment, fixed: Mapping[str, str]) -> str:
    levels = [
        f"{axis}~(?:{fixed[axis]})" if axis in fixed else f"stack~{STACK}" if axis == "stack" else pattern([axis])
        for axis in experiment.axes()
    ]
    return "/".join([name, *levels, pattern(["rep"])])
