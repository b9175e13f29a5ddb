# /// script
# dependencies = ["pyarrow"]
# ///
"""Reads JSON Lines and CSV of 300,000 rows."""

import io

import pyarrow.csv
import pyarrow.json

lines = "".join(f'{{"id": {n}, "text": "some text {n}", "tags": ["a", "b{n % 10}"]}}\n' for n in range(300_000))
table = pyarrow.json.read_json(io.BytesIO(lines.encode()))
rows = "id,text\n" + "".join(f"{n},some text {n}\n" for n in range(300_000))
second = pyarrow.csv.read_csv(io.BytesIO(rows.encode()))
assert table.num_rows == second.num_rows == 300_000 and table.column("id").equals(second.column("id"))
print(table.num_rows, table.column("tags")[7])
