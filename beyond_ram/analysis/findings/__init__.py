"""Findings: what the tables show, in sentences, strongest first. Each is computed; none is written down beforehand."""

from . import explaining, hub, loading, streaming
from .base import PAIRS, Finding, Tables

__all__ = ["PAIRS", "Finding", "Tables", "findings"]


def findings(tables: Tables) -> list[Finding]:
    """Everything that the tables show, strongest first."""
    sources = explaining.SOURCES + hub.SOURCES + streaming.SOURCES + loading.SOURCES
    found = [finding for source in sources for finding in source(tables)]
    return sorted(found, key=lambda finding: -finding.strength)
