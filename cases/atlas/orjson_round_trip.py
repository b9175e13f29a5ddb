# /// script
# dependencies = ["orjson"]
# ///
"""Writes 200,000 records as JSON Lines and reads them back."""

import hashlib

import orjson

rows = [{"id": n, "text": f"word {n} " * 8, "score": n / 7, "tags": ["a", None, True, n]} for n in range(200_000)]
lines = [orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows]
assert [orjson.loads(line) for line in lines] == rows
print(hashlib.sha256(b"".join(lines)).hexdigest())
