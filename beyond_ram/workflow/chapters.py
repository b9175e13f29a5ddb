"""Tables and figures of all chapters: what makes each, what it needs, and which ones the planned experiments have.

A table NAME is the function `NAME` of `beyond_ram/analysis/NAME.py`. A figure NAME is the function `plot` of
`scripts/figures/NAME.py`. The parameters of the function are what it needs: `records` (runs of its chapter with their
events), `samples`, `pairs` (compared stacks), `questions` (planned comparisons), `locks` (locks and
requirements of stacks), `session_spread` (of metrics, shipped), and names of tables.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ..experiment.workloads import Experiment
from ..text import did_you_mean
from . import imports

SHIPPED_SPREAD = "beyond_ram/analysis/session_spread.csv"
TABLES, FIGURES = "beyond_ram/analysis", "scripts/figures"
FILES_OF_FIGURE = {"svg": "svg", "png": "png", "caption": "txt"}
"""The endings of a figure's files, by what they are."""
# The part of outputs that every report has.
GENERAL = "report"
# Parameters that are not tables.
RUNS, SETTINGS = ("records", "samples"), ("pairs", "questions", "locks", "session_spread")
Kind = Literal["table", "figure"]
Condition = Callable[[Experiment], bool]


def always(_: Experiment) -> bool:
    """The condition of outputs that all experiments have."""
    return True


def varies(*axes: str) -> Condition:
    """Whether an experiment has several values on one of these axes."""
    return lambda experiment: any(len(getattr(experiment.matrix, axis, ())) > 1 for axis in axes)


def has(axis: str, value: str) -> Condition:
    """Whether an experiment has a value on an axis."""
    return lambda experiment: value in getattr(experiment.matrix, axis, ())


def limited(experiment: Experiment) -> bool:
    """Whether its commands are started again under a limit. The record of such a run is of the last start alone."""
    return any(getattr(experiment.matrix, "limit_mb", ()))


@dataclass(frozen=True)
class Figure:
    """A figure of a chapter. It is made if an experiment of the chapter meets `when`."""

    title: str
    when: Condition = always
    question: str = ""
    """A question that the first paragraph of its caption answers, on the report's first screen."""


@dataclass(frozen=True)
class Chapter:
    """A target with its tables and figures.

    `covers` are the experiments whose runs it plans. Its tables are made `over` these experiments, or by default over
    those it covers. A table with a condition is made if one of these experiments meets it.
    """

    part: str
    title: str
    covers: Condition
    over: Condition | None = None
    tables: Mapping[str, Condition] = field(default_factory=dict)
    figures: Mapping[str, Figure] = field(default_factory=dict)


@dataclass
class Outputs:
    """The tables and figures of all chapters for the planned experiments, by name."""

    root: Path
    experiments: Mapping[str, Experiment]
    chapters: list[Chapter] = field(default_factory=list)

    def add(
        self,
        part: str,
        title: str,
        covers: Condition,
        *,
        tables: Iterable[str] | Mapping[str, Condition] = (),
        **more: Any,
    ) -> None:
        """Add a chapter, with the fields of `Chapter`. Tables in a list are made without a condition."""
        conditions = tables if isinstance(tables, Mapping) else dict.fromkeys(tables, always)
        self.chapters.append(Chapter(part, title, covers, tables=conditions, **more))

    def of(self, kind: Kind, name: str) -> Chapter:
        """The chapter of a table or figure."""
        return next(c for c in self.chapters if name in (c.tables if kind == "table" else c.figures))

    def parts(self) -> list[str]:
        """The names of parts."""
        return [part for part in dict.fromkeys(chapter.part for chapter in self.chapters) if part != GENERAL]

    def experiments_of(self, chapter: Chapter, parts: Iterable[str] = ()) -> list[str]:
        """The experiments of a chapter's tables; with `parts`, only those that one of the parts covers."""
        over = chapter.over or chapter.covers
        return [name for name in self.covered(parts) if over(self.experiments[name])]

    def covered(self, parts: Iterable[str] = ()) -> list[str]:
        """The experiments that some parts run; without parts, all."""
        wanted = set(parts)
        covers = [chapter.covers for chapter in self.chapters if chapter.part in wanted]
        return [name for name, one in self.experiments.items() if not wanted or any(cover(one) for cover in covers)]

    def _requested(self, parts: Iterable[str]) -> list[tuple[Chapter, list[Experiment]]]:
        """The chapters of some parts, or all, with the experiments of their tables."""
        wanted = set(parts)
        chapters = [chapter for chapter in self.chapters if not wanted or chapter.part in {GENERAL, *wanted}]
        return [(one, [self.experiments[name] for name in self.experiments_of(one, wanted)]) for one in chapters]

    def tables(self, parts: Iterable[str] = (), *, general: bool = True) -> list[str]:
        """The tables that are made, in the order of the chapters; those of every report only if `general`."""
        return [
            name
            for chapter, over in self._requested(parts)
            for name, when in chapter.tables.items()
            if any(map(when, over)) and (general or chapter.part != GENERAL)
        ]

    def figures(self, parts: Iterable[str] = ()) -> dict[str, str]:
        """The figures that are made, with their titles, in the order of the chapters."""
        return {
            name: one.title
            for chapter, over in self._requested(parts)
            for name, one in chapter.figures.items()
            if any(map(one.when, over))
        }

    def left_out(self, parts: Iterable[str] = ()) -> list[str]:
        """The titles of figures for which no planned experiment has data."""
        figures = self.figures(parts)
        return [one.title for chapter in self.chapters for name, one in chapter.figures.items() if name not in figures]

    def needs(self, kind: Kind, name: str) -> list[str]:
        """The parameters of the function that makes a table or figure. Raises ValueError for one that nothing fills."""
        needs = parameters(self.root / source(kind, name), name if kind == "table" else "plot")
        tables = [table for chapter in self.chapters for table in chapter.tables]
        for need in needs:
            if need not in (*RUNS, *SETTINGS, *tables):
                hint = did_you_mean(need, tables)
                raise ValueError(f"{source(kind, name)}: no table fills the parameter {need!r}{hint}")
        return needs


def source(kind: Kind, name: str) -> str:
    """The file of the function that makes a table or figure, relative to the root."""
    return f"{TABLES}/{name}.py" if kind == "table" else f"{FIGURES}/{name}.py"


def parameters(path: Path, function: str) -> list[str]:
    """The names of a function's positional parameters, from its source. Keyword-only parameters are settings.

    Raises ValueError if there is no such file or function.
    """
    try:
        return imports.parsed(path).parameters[function]
    except FileNotFoundError:
        raise ValueError(f"{path}: a chapter names it, and there is no such file") from None
    except KeyError:
        raise ValueError(f"{path}: has no function {function!r}") from None
