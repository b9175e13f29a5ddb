"""Findings: what the tables show, in sentences, strongest first. Each is computed; none is written down beforehand."""

from . import compared, explaining, hub, loading, streaming
from .base import Finding, Tables

__all__ = ["Finding", "Tables", "findings"]


def findings(tables: Tables) -> list[Finding]:
    """Everything that the tables show, strongest first."""
    sources = compared.SOURCES + explaining.SOURCES + hub.SOURCES + streaming.SOURCES + loading.SOURCES
    found = [finding for source in sources for finding in source(tables)]
    return sorted(found, key=lambda finding: -finding.strength)
