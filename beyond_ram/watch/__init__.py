"""Measure a command's process tree from outside. This package imports nothing of the workflow."""

from .command import GuardError
from .groups import LimitError
from .watcher import WatchOptions, watch, write_record

__all__ = ["GuardError", "LimitError", "WatchOptions", "watch", "write_record"]
