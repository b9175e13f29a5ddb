"""The page of watched runs: one file, no network, made with the standard library only."""

from ..one_run import Run
from .page import details, write

__all__ = ["Run", "details", "write"]
