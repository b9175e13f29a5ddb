"""Findings: what the tables show, strongest first, as data (`finding.py`) and as sentences (`sentences.py`).

What answers a question of the report's first screen is no finding: its figure has it.
"""

from collections.abc import Callable, Iterator, Mapping

from . import cells, compared
from .finding import Finding, Tables
from .undecided import unchanged, undecided

__all__ = ["SOURCES", "Finding", "Tables", "findings", "unchanged", "undecided"]

SOURCES: Mapping[str, Callable[[Tables], Iterator[Finding]]] = {
    "comparisons": compared.differences,
    "runs": compared.outcomes,
    "regrowth": cells.regrowth,
    "loaders": cells.rows_lost,
}
"""The sources of findings, by the table that each needs."""


def findings(tables: Tables) -> list[Finding]:
    """Everything that the tables show, strongest first."""
    every = [one for name, source in SOURCES.items() if len(tables.get(name, ())) for one in source(tables)]
    return sorted(every, key=lambda finding: -finding.strength)
