"""The page of watched runs: one file, no network, made with the standard library only."""

from ..one_run import RunFolder
from .page import details, write

__all__ = ["RunFolder", "details", "write"]
