"""Runs one cell: private folder, cache state, the watcher around the workload, the interruption, the record."""

from .cell import Setting, WeighingError, weigh
from .interruption import weigh_interrupted
from .limit import weigh_limit

__all__ = ["Setting", "WeighingError", "weigh", "weigh_interrupted", "weigh_limit"]
