"""What every finding is made of."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

MB = 1e6
Tables = Mapping[str, pd.DataFrame]
Line = dict[str, Any]


@dataclass(frozen=True)
class Finding:
    """One paragraph. `strength` orders them: the effect as a factor, where 2 and one half are as strong."""

    title: str
    text: str
    figure: str
    """The figure that shows it, by name."""
    experiment: str
    """The experiment that shows it alone."""
    strength: float


Source = Callable[[Tables], Iterator[Finding]]


def as_factor(ratio: float) -> float:
    """A ratio as a factor: 2 and one half are both 2."""
    return max(ratio, 1 / ratio) if ratio > 0 else 1.0


def lines_of(table: pd.DataFrame) -> list[Line]:
    """The lines of a table, by column."""
    return [{str(key): value for key, value in line.items()} for line in table.to_dict("records")]
