"""Write the path grammar: from a cell to its run's folder. `grammar.py` reads it.

A run's folder is its description: EXPERIMENT, then a level `key~value` per axis in the workload's order, then `rep~N`.
"""

import functools
import re
from dataclasses import dataclass
from typing import Any

# A stack of a config, or one of a version ladder: BASE+PACKAGE-VERSION.
STACK = r"[a-z0-9][a-z0-9._+-]*"
VALUE = re.compile(r"[A-Za-z0-9@._+-]+")
Value = str | int
Point = tuple[tuple[str, Value], ...]


@dataclass(frozen=True)
class Cell:
    """One point of an experiment's matrix, at one repeat: the content of a run's folder name."""

    experiment: str
    axes: Point
    rep: int

    def __getitem__(self, axis: str) -> Value:
        return dict(self.axes)[axis]

    def get(self, axis: str, default: Any = None) -> Any:
        return dict(self.axes).get(axis, default)

    def replace(self, **values: Value) -> "Cell":
        """The cell with other values on some of its axes.

        Raises KeyError for an axis that the cell does not have.
        """
        unknown = set(values) - {axis for axis, _ in self.axes}
        if unknown:
            raise KeyError(f"no such axis: {', '.join(sorted(unknown))}")
        axes = tuple((axis, values.get(axis, value)) for axis, value in self.axes)
        return Cell(self.experiment, axes, self.rep)

    def parameters(self) -> dict[str, Value]:
        """The cell as in run.json and the tables."""
        return {"experiment": self.experiment, **dict(self.axes), "rep": self.rep}

    @functools.cached_property
    def path(self) -> str:
        """The folder of this run, relative to the folder of all runs. Raises ValueError for an invalid value."""
        for axis, value in self.axes:
            if not VALUE.fullmatch(str(value)):
                raise ValueError(f"{axis}: {value!r} cannot stand in a path; letters, digits and @ . _ + - can")
        return "/".join([self.experiment, *(f"{axis}~{value}" for axis, value in self.axes), f"rep~{self.rep}"])
