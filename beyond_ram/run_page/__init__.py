"""The page of watched runs: one file, no network, made with the standard library only."""

from ..records.run_folder import RunFolder
from .page import details, write

__all__ = ["RunFolder", "details", "write"]
