"""Stacks: pinned sets of versions, their locks and their environments."""
