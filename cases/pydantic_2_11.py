# /// script
# requires-python = ">=3.11"
# dependencies = ["pydantic"]
# ///
"""pydantic 2.11: models that hold each other take less memory to build (pydantic/pydantic#10521, #8652)."""

from pydantic import BaseModel, create_model


class Leaf(BaseModel):
    number: int
    text: str
    parts: list[dict[str, float]]


level = [Leaf]
for depth in range(5):
    level = [
        create_model(f"Model{depth}_{n}", one=(level[n % len(level)], ...), two=(level[-1], ...)) for n in range(60)
    ]
print(len(level))
