"""The page of runs that were watched: one file, no network, and the standard library alone to make it."""

from .page import write
from .run import Run

__all__ = ["Run", "write"]
