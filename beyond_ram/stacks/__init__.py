"""Stacks: pinned sets of versions, with locks and environments."""
