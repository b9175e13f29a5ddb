"""The page of watched runs: one file, no network, made with the standard library only."""

from .page import write
from .run import Run

__all__ = ["Run", "write"]
