# /// script
# requires-python = ">=3.11"
# dependencies = ["pydantic"]
# ///
"""pydantic before 2.7.1: each `Iterable` that is validated in a model is kept (pydantic/pydantic#9243)."""

from collections.abc import Iterable

from pydantic import BaseModel


class Trace(BaseModel):
    elements: Iterable[int]


for _ in range(100_000):
    trace = Trace(elements=[1, 2, 3])
print(list(trace.elements))
