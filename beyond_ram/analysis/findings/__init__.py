"""Findings: what the tables show, strongest first, as data (`finding.py`) and as sentences (`sentences.py`)."""

from . import compared, explaining, loading
from .finding import Bar, Finding, Tables, one_per_cause
from .undecided import undecided

__all__ = ["Bar", "Finding", "Tables", "findings", "undecided"]


def findings(tables: Tables) -> list[Finding]:
    """Everything that the tables show, strongest first, one finding per cause."""
    sources = compared.SOURCES + explaining.SOURCES + loading.SOURCES
    return one_per_cause(finding for source in sources for finding in source(tables))
