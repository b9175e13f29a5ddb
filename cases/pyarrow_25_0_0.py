# /// script
# requires-python = ">=3.11"
# dependencies = ["pyarrow"]
# ///
"""pyarrow 25.0.0: reading JSON Lines takes more memory, and keeps it."""

import io

import pyarrow.json

lines = "".join(f'{{"id": {n}, "text": "some text {n}", "tags": ["a", "b{n % 10}"]}}\n' for n in range(300_000))
table = pyarrow.json.read_json(io.BytesIO(lines.encode()))
print(table.num_rows, table.nbytes)
