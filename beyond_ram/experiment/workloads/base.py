"""Common parts of workloads: axes, matrices and experiments.

A workload is a module beside this one: its axes, invalid combinations, and the measured program.
"""

import functools
import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal, TypeVar, cast, get_args

from pydantic import Field, StringConstraints, model_validator

from ...text import NAME
from ..corpora import AS_NUMBER, NonNegativeInt, PositiveInt, Strict
from ..job import Job
from ..paths import Cell, Point, Value
from ..scripts import Script
from ..tokens import OwnLoader, format_of

Name = Annotated[str, StringConstraints(pattern=f"^{NAME}$", max_length=100)]
Role = Literal["input", "program", "cache", "endpoint"]
T = TypeVar("T")
Values = Annotated[list[T], Field(min_length=1)]
Names = Values[Name]
Sizes = Values[PositiveInt]
Counts = Values[NonNegativeInt]


PROGRAMS = "scripts/workloads"
FLAGS = "flags"
"""The key of a matrix that names axes of its own."""
WHY_PROGRAM = "why.py"
"""Runs a program as a script, and releases what it holds at its end."""


@dataclass(frozen=True)
class Places:
    """The inputs of a job, below the results folder."""

    results: str
    loaders: Mapping[str, OwnLoader]
    """The user's loaders, by name."""
    scripts: Mapping[str, Script]
    """The user's scripts, by name."""

    def of(self, kind: str, name: Value) -> str:
        """The folder of a corpus, token dataset or repository."""
        return f"{self.results}/{kind}/{name}"

    def loader(self, cell: Cell) -> tuple[str, list[str]]:
        """The input of a cell's loader, and further arguments if the loader is the user's own."""
        name, folder = str(cell["loader"]), self.of("tokens", cell["tokens"])
        own = self.loaders.get(name)
        if not own:
            return f"{folder}/{format_of(name)}", []
        data = own.data or f"{folder}/{own.format}"
        rows = ["--rows", str(own.rows)] if own.rows else []
        return data, ["--module", own.module, "--data", data, *rows]


# A unit of at most this many letters is a symbol without plural, such as ms.
_SYMBOL = 3


@dataclass(frozen=True)
class Axis:
    """Properties of an axis, besides its values.

    `role`: `input` names what a run reads, `program` is a flag of the program, `cache` a state of
    caches at the start, `endpoint` a condition of the endpoint. `label` and `unit` are
    for figures; with `alone` a value needs no label.
    """

    role: Role = "program"
    label: str = ""
    unit: str = ""
    alone: bool = False
    nothing: str | None = None
    """Description of 0, `none` or `default`; empty: not mentioned."""
    number: bool = False
    """Whether its values are whole numbers."""

    def describe(self, value: Value | float) -> str:
        """A value in figures and sentences: `8 workers`, `latency 50 ms`, `redirect yes`."""
        if self.nothing is not None and value in (0, "none", "default"):
            return self.nothing
        if isinstance(value, str):
            return value if self.alone else f"{self.label} {value}"
        one = value == 1 and len(self.unit) > _SYMBOL and self.unit.endswith("s") and "/" not in self.unit
        singular = self.unit.removesuffix("es" if self.unit.endswith(("sses", "ches")) else "s")
        with_unit = f"{value:,.10g} {singular if one else self.unit}".rstrip()
        return with_unit if self.unit == self.label else f"{self.label} {with_unit}"


class Axes(dict[str, Axis]):
    """Axes by name. The flags of scripts are axes that a config names."""

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or is_flag(name)

    def __missing__(self, name: str) -> Axis:
        if not is_flag(name):
            raise KeyError(name)
        return Axis(label=name)


def is_flag(axis: object) -> bool:
    """Whether an axis is a flag of a script, such as `--threads`."""
    return isinstance(axis, str) and axis.startswith("--")


@dataclass(frozen=True)
class Contrast:
    """How a workload compares the values of an axis in otherwise equal cells.

    Every other value is compared with `baseline`; "first" is the first in the config. Without a baseline the largest
    value is compared with the smallest.
    """

    baseline: Value | None = None
    along: tuple[str, ...] = ()
    """Axes that may differ with it, as `start` does with `workers`."""

    def pairs(self, values: Sequence[Any]) -> list[tuple[Any, Any]]:
        """Baseline and candidate of each comparison among the values that ran, in the order of the config."""
        if self.baseline is None:
            return [(min(values), max(values))] if len(values) > 1 else []
        first = values[0] if self.baseline == "first" and values else self.baseline
        return [(first, value) for value in values if first in values and value != first]


Stacks = Annotated[Names, Axis("input", alone=True), Field(description="Stacks, by name.")]
Corpora = Annotated[Names, Axis("input", alone=True), Field(description="Corpora, by name.")]


class Matrix(Strict):
    """Axes in the order of the path grammar; every combination is a cell."""

    stack: Stacks

    def cells(self, experiment: str, repeats: int) -> list[Cell]:
        """All cells, each once, in the order of the axes."""
        of_axes = self.values()
        combinations = itertools.product(*of_axes.values())
        points = dict.fromkeys(self.normalise(dict(zip(of_axes, values, strict=True))) for values in combinations)
        return [Cell(experiment, point, rep) for point in points if point for rep in range(1, repeats + 1)]

    def size(self) -> int:
        """Number of combinations, including impossible ones."""
        return math.prod(map(len, self.values().values()))

    def values(self) -> dict[str, list[Value]]:
        """The values on each axis, in the order of the path grammar."""
        return {axis: getattr(self, axis) for axis in self.axes()}

    def normalise(self, point: dict[str, Any]) -> Point:
        """One combination as axes and values; empty for an impossible one."""
        if "start" in point and not point["workers"]:
            point["start"] = "none"
        return tuple(point.items())

    @classmethod
    @functools.cache
    def axes(cls) -> Axes:
        """Properties of each axis, by name, in the order of the path grammar."""
        fields = [(name, field) for name, field in cls.model_fields.items() if name != FLAGS]
        return Axes((name, _axis(name, field.metadata, field.annotation)) for name, field in fields)

    @classmethod
    def compared(cls) -> dict[str, Contrast]:
        """The axes whose values are compared with each other."""
        metadata = ((name, item) for name, field in cls.model_fields.items() for item in field.metadata)
        return {name: item for name, item in metadata if isinstance(item, Contrast)}


def _axis(name: str, metadata: Sequence[Any], annotation: Any) -> Axis:
    declared = next((item for item in metadata if isinstance(item, Axis)), Axis())
    (element,) = get_args(annotation)
    number = (get_args(element) or (element,))[0] is int
    return replace(declared, label=declared.label or name.replace("_", " "), number=number)


LARGEST = "largest"
"""In place of a value of an axis: the largest that ran."""


class PlannedQuestion(Strict):
    """A comparison that an experiment is for. A report corrects all of them for multiple testing together."""

    metric: str = Field(
        description="The metric to compare; a script's own by its name in table `comparisons`, as `seconds [s, lower]`."
    )
    compare: str = Field("stack", description="The axis whose values are compared.")
    where: dict[str, Annotated[list[Annotated[int, AS_NUMBER] | str], Field(min_length=1)]] = Field(
        {}, description="Axis values of the candidate's cell, or `largest`; default: every cell."
    )

    def values(self, axis: str, of_cells: Collection[Value]) -> list[Value]:
        """The values on an axis, with `largest` replaced by the largest of the cells."""
        if is_flag(axis):
            return [str(value) for value in self.where[axis]]
        return [max(of_cells) if value == LARGEST else value for value in self.where[axis]]


class Experiment(Strict):
    """Common keys of experiments of every workload."""

    PROGRAM: ClassVar[str]
    CHECKED: ClassVar[bool] = False
    NAMES_HELD: ClassVar[bool] = False
    """Whether its program keeps what it holds at its end under names, which `why` needs."""

    matrix: Matrix
    workload: str

    repeats: PositiveInt | None = Field(
        None,
        description="Runs per cell; default: 1. With `budget_min` the default is 2, and more for cells that a planned "
        "question needs.",
    )
    memory_mb: PositiveInt = Field(4000, description="Memory request in megabytes until a run has measured the need.")
    timeout_s: PositiveInt | None = Field(
        None, description="Seconds after which a run is stopped and recorded as timed out; default: no limit."
    )
    questions: list[PlannedQuestion] = Field(
        [], description="The few comparisons that the experiment is for. All others are labelled exploratory."
    )
    find_limit: bool = Field(
        False, description="Search for the smallest memory limit under which each cell completes, to 3 %."
    )

    why: bool = Field(
        False,
        description="Also find what holds the memory of each cell at its end (table `holders`), in one more run, which "
        "is never compared ([docs/scripts.md](scripts.md#what-holds-its-memory)). Not of cells with a limit, or with "
        "something in map's cache; of workloads `tokenize`, `soak` and `script`.",
    )

    @model_validator(mode="after")
    def _names_what_it_holds(self) -> "Experiment":
        if self.why and not self.NAMES_HELD:
            raise ValueError(f"why: not of workload {self.workload}")
        return self

    @property
    def programs(self) -> list[str]:
        """The programs of its runs."""
        return [self.PROGRAM, *([WHY_PROGRAM] if self.why else [])]

    def cells(self, name: str, repeats: int = 1) -> list[Cell]:
        """Every cell of the matrix with its repeats: `repeats`, unless the config sets them."""
        return self.matrix.cells(name, self.repeats or repeats)

    def job(self, cell: Cell, places: Places) -> Job:
        """The job of a cell. Workloads override parts of it."""
        axes = self.axes()
        flags = {axis: str(value) for axis, value in cell.axes if axes[axis].role == "program"}
        return Job(
            path=cell.path,
            workload=self.workload,
            program=f"{PROGRAMS}/{self.PROGRAM}",
            arguments=tuple(word for axis, value in flags.items() for word in (f"--{axis.replace('_', '-')}", value)),
            corpus=places.of("corpora", cell["corpus"]) if "corpus" in axes else None,
            num_files=cell.get("num_files"),
            tokens=places.of("tokens", cell["tokens"]) if cell.get("tokens", "none") != "none" else None,
            checked=self.CHECKED,
            timeout_s=self.timeout_s,
            find_limit=self.find_limit,
            why=self.why and cell.rep == 1 and cell.get("cache", "cold") == "cold" and not cell.get("limit_mb"),
        )

    @classmethod
    def name(cls) -> str:
        """The name of the workload in the config."""
        (name,) = get_args(cls.model_fields["workload"].annotation)
        return str(name)

    @classmethod
    def axes(cls) -> Axes:
        """Properties of each axis, by name, in the order of the path grammar."""
        return cls.points().axes()

    @classmethod
    def points(cls) -> type[Matrix]:
        """The class of its matrix."""
        return cast(type[Matrix], cls.model_fields["matrix"].annotation)
