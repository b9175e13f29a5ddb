"""Findings as data; `sentences.py` turns them into text."""

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from ..thresholds import SMALLEST_SHARE

if TYPE_CHECKING:
    from . import sentences

Tables = Mapping[str, pd.DataFrame]
TableLine = dict[str, Any]
Kind = Literal["difference", "outcomes", "regrowth", "rows"]


@dataclass(frozen=True)
class Effect:
    """A metric on both sides, with the interval of their ratio or difference. Unknown numbers are NaN."""

    metric: str
    """A key of the registry."""
    baseline: float
    candidate: float
    ratio: float = math.nan
    """Candidate over baseline; NaN if the difference was compared."""
    difference: float = math.nan
    low: float = math.nan
    """Ends of the 95 % interval of the ratio or difference."""
    high: float = math.nan
    n: int = 0
    exact: bool = False
    result: str = ""
    """Of the comparison."""
    conditions: tuple[str, ...] = ()
    """The cell in words, on the axes that vary."""
    experiment: str = ""


@dataclass(frozen=True)
class Scope:
    """The settings of a finding."""

    experiment: str
    conditions: tuple[str, ...] = ()
    """Settings that the finding is limited to, in words; empty if it holds in all compared settings."""
    confirmed: int = 0
    """Number of the `compared` settings in which it is confirmed."""
    compared: int = 0
    failed: int = 0
    """Number of failed runs."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One paragraph of a report, as data. `title` and `text` come from `sentences.py`."""

    kind: Kind
    subject: str
    """A stack, loader, release or setting."""
    baseline: str = ""
    """The other side of the comparison."""
    effects: tuple[Effect, ...] = ()
    """Strongest first."""
    scope: Scope
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Further numbers and names; the keys depend on the kind."""
    strength: float
    """The effect at the near end of its interval, as a factor; 0 if nothing is confirmed. Findings are sorted by it."""
    seen: tuple[TableLine, ...] = ()
    """The table lines that it is based on."""

    @functools.cached_property
    def words(self) -> "sentences.Text":
        """Title and text."""
        from . import sentences

        return sentences.of(self)

    @property
    def title(self) -> str:
        """One line."""
        return self.words.title

    @property
    def text(self) -> str:
        """The numbers, in sentences."""
        return self.words.text

    @property
    def experiment(self) -> str:
        """The experiment that shows it."""
        return self.scope.experiment

    @property
    def small(self) -> bool:
        """Whether the effect may be below SMALLEST_SHARE. One of strength 0 answers a question and has no size."""
        return 0 < self.strength < 1 + SMALLEST_SHARE


def lines_of(table: pd.DataFrame) -> list[TableLine]:
    """The lines of a table as dictionaries."""
    names = [str(name) for name in table]
    # Half the time of `to_dict("records")`, which boxes value by value.
    return [dict(zip(names, line, strict=True)) for line in table.to_numpy(dtype=object).tolist()]


def failed(line: Mapping[str, Any]) -> int:
    """Number of failed runs of a line; 0 if the table does not count them."""
    count = line.get("failed", 0)
    return 0 if pd.isna(count) else int(count)


def tries(failed: int) -> float:
    """The strength of so many failed runs and no other: the expected number of tries until a run succeeds.

    Computed from the mean of Jeffreys' posterior of the failing share: 4 after one failed run, 8 after three.
    """
    return 2.0 * (failed + 1)
