"""Findings: what the tables show, strongest first, as data (`finding.py`) and as sentences (`sentences.py`).

What answers a question of the report's first screen is no finding: its figure has it.
"""

from . import cells, compared
from .finding import Bar, Finding, Tables
from .undecided import undecided

__all__ = ["Bar", "Finding", "Tables", "findings", "undecided"]


def findings(tables: Tables) -> list[Finding]:
    """Everything that the tables show, strongest first."""
    sources = compared.SOURCES + cells.SOURCES
    every = [finding for source in sources for finding in source(tables)]
    return sorted(every, key=lambda finding: -finding.strength)
