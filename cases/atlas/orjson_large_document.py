# /// script
# dependencies = ["orjson"]
# ///
"""Parses one document of 16 MB three times, and drops it each time."""

import orjson

text = orjson.dumps({"rows": [{"key": f"value {n}", "numbers": [n, n + 0.5, -n]} for n in range(250_000)]})
for _ in range(3):
    document = orjson.loads(text)
    count = len(document["rows"])
    del document
assert count == 250_000
print(len(text), count)
