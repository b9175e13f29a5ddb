"""The instrument: a command's process tree, weighed from outside. Knows nothing of the workflow."""

from .command import GuardError
from .groups import LimitError
from .watcher import watch, write_record

__all__ = ["GuardError", "LimitError", "watch", "write_record"]
