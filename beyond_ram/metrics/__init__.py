"""The one registry of metrics: tables, figures, verdicts and comparisons read it and nothing else."""

from .registry import METRICS, Metric, derive

__all__ = ["METRICS", "Metric", "derive"]
