"""Keeps small objects of Python's own until its end. What it needs is its own memory, and not that of a library."""

kept = [bytes(1000) for _ in range(40_000)]
print(len(kept))
