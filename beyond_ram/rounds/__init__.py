"""Measure in rounds until comparisons are decided or a budget is used up: for the workflow and the atlas."""

from .blocks import Block, fitting, order

__all__ = ["Block", "fitting", "order"]
