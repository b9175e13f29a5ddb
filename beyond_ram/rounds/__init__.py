"""Measure in rounds until comparisons are decided or a budget is used: for the workflow, `gate` and `bisect`."""

from .blocks import Block, fitting, order
from .loop import Round, run

__all__ = ["Block", "Round", "fitting", "order", "run"]
