# /// script
# requires-python = ">=3.11"
# dependencies = ["ujson"]
# ///
"""ujson 5.4 to 5.11: each integer of more than 64 bits that is parsed is kept (fixed in 5.12.0, CVE-2026-32874)."""

import ujson

for _ in range(100_000):
    number = ujson.loads("7" * 1000)
print(number)
