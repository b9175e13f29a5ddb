"""Runs one cell: private folder, cache state, the watcher around the workload, the interruption, the record."""

from .tokenize import weigh, weigh_interrupted

__all__ = ["weigh", "weigh_interrupted"]
