"""The path grammar: one function that writes a run's folder, one that reads it.

A run's folder is its description: EXPERIMENT, then a level `key~value` per axis in the workload's order, then `rep~N`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

NAME = r"[a-z0-9][a-z0-9._-]*"
_VALUE = re.compile(r"[A-Za-z0-9@._+-]+")


@dataclass(frozen=True)
class Cell:
    """One point of an experiment's matrix, at one repeat: what a run's folder describes."""

    experiment: str
    axes: tuple[tuple[str, str], ...]
    rep: int

    def __getitem__(self, axis: str) -> str:
        return dict(self.axes)[axis]

    def get(self, axis: str, default: str = "") -> str:
        return dict(self.axes).get(axis, default)

    def replace(self, **values: object) -> "Cell":
        """The cell with other values on some of its axes.

        Raises KeyError for an axis the cell does not have.
        """
        unknown = set(values) - {axis for axis, _ in self.axes}
        if unknown:
            raise KeyError(f"no such axis: {', '.join(sorted(unknown))}")
        axes = tuple((axis, str(values.get(axis, value))) for axis, value in self.axes)
        return Cell(self.experiment, axes, self.rep)

    def parameters(self) -> dict[str, str | int]:
        """The cell as run.json and the tables hold it: whole numbers as numbers."""
        values = {axis: int(value) if value.isdigit() else value for axis, value in self.axes}
        return {"experiment": self.experiment, **values, "rep": self.rep}

    @property
    def path(self) -> str:
        """The folder of this run, relative to the folder of all runs."""
        for axis, value in self.axes:
            if not _VALUE.fullmatch(value):
                raise ValueError(f"{axis}: {value!r} cannot stand in a path; letters, digits and @ . _ + - can")
        return "/".join([self.experiment, *(f"{axis}~{value}" for axis, value in self.axes), f"rep~{self.rep}"])


def parse(path: str) -> Cell:
    """Read a run's folder, relative to the folder of all runs.

    Raises ValueError where the path does not follow the grammar.
    """
    experiment, *levels = path.strip("/").split("/")
    pairs = [tuple(level.split("~")) for level in levels]
    if not pairs or any(len(pair) != 2 for pair in pairs) or pairs[-1][0] != "rep" or not pairs[-1][1].isdigit():
        raise ValueError(f"{path}: not a run's folder; expected EXPERIMENT/key~value/…/rep~N")
    return Cell(experiment, tuple((key, value) for key, value in pairs[:-1]), int(pairs[-1][1]))


def pattern(axes: Sequence[str]) -> str:
    """A regular expression for the levels of some axes, in their order."""
    return "/".join(f"{axis}~{_VALUE.pattern}" for axis in axes)
