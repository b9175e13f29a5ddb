"""What every finding is made of."""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from ..thresholds import SHARE

Tables = Mapping[str, pd.DataFrame]
Line = dict[str, Any]


@dataclass(frozen=True)
class Bar:
    """A value of a finding's small picture."""

    label: str
    value: float
    said: str
    """The value as it is written, with its unit."""


@dataclass(frozen=True)
class Finding:
    """One paragraph. `strength` orders them: what is sure of the effect, as a factor (2 and one half are as strong),
    and 0 where it says that nothing was shown."""

    title: str
    text: str
    figure: str
    """The figure that shows it, by name; empty where none does."""
    experiment: str
    """The experiment that shows it alone."""
    strength: float
    action: str = ""
    """What to do about it; empty where the data carries no advice."""
    bars: tuple[Bar, ...] = ()
    """What its small picture shows: values of one unit."""
    seen: tuple[Line, ...] = ()
    """The lines of tables that it was seen in."""
    cause: tuple[str, ...] = ()
    """Findings of one cause are told once; empty: told by itself."""
    more: tuple[tuple[str, str], ...] = ()
    """Title and text of weaker ones of the same cause."""

    @property
    def small(self) -> bool:
        """Whether it is not surely as much as SHARE. What has strength 0 answers what was asked, and has no size."""
        return 0 < self.strength < 1 + SHARE


def one_per_cause(findings: Iterable[Finding]) -> list[Finding]:
    """Strongest first, and of several with one cause the strongest with what the others say.

    Where they advise different things, none is advised.
    """
    by_cause: dict[object, list[Finding]] = {}
    for place, finding in enumerate(sorted(findings, key=lambda finding: -finding.strength)):
        by_cause.setdefault(finding.cause or place, []).append(finding)
    return [_joined(same) for same in by_cause.values()]


def _joined(same: Sequence[Finding]) -> Finding:
    first, *others = same
    return replace(
        first,
        action=first.action if {finding.action for finding in same} == {first.action} else "",
        seen=tuple(line for finding in same for line in finding.seen),
        more=tuple((finding.title, finding.text) for finding in others),
    )


Source = Callable[[Tables], Iterator[Finding]]


def reads(*names: str) -> Callable[[Source], Source]:
    """A source says nothing where one of its tables is missing or has no lines: what was not run is not spoken of."""

    def only_where_run(source: Source) -> Source:
        @functools.wraps(source)
        def found(tables: Tables) -> Iterator[Finding]:
            if all(name in tables and len(tables[name]) for name in names):
                yield from source(tables)

        return found

    return only_where_run


def lines_of(table: pd.DataFrame) -> list[Line]:
    """The lines of a table, by column."""
    return [{str(key): value for key, value in line.items()} for line in table.to_dict("records")]


def failures(line: Mapping[str, Any]) -> str:
    """How many runs of a line failed, where the table says so and any did."""
    failed = line.get("failed", 0)
    return f" {failed:.0f} of {line['asked']:.0f} runs failed." if failed and not pd.isna(failed) else ""


def tries(failed: int, runs: int) -> float:
    """The strength of a failure: how often one would have to try until it works, after so many of so many runs failed.

    By the mean of Jeffreys' posterior of the share that fails: 4 after one run, 8 after three.
    """
    return (runs + 1) / (runs - failed + 0.5) if failed else 1.0
