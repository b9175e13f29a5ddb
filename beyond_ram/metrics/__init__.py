"""The one registry of metrics: tables, figures, verdicts and comparisons read it and nothing else."""

from .base import Column, Events, Metric, Record, Records
from .registry import COLUMNS, IDENTIFYING, METRICS, column, derive, identifies

__all__ = [
    "COLUMNS",
    "IDENTIFYING",
    "METRICS",
    "Column",
    "Events",
    "Metric",
    "Record",
    "Records",
    "column",
    "derive",
    "identifies",
]
