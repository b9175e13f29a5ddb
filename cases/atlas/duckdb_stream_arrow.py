# /// script
# dependencies = ["duckdb", "pyarrow"]
# ///
"""Streams a query's result as Arrow batches."""

import duckdb

database = duckdb.connect()
database.execute("SET threads = 2")
query = database.execute("SELECT range AS id, 'row ' || range AS text FROM range(3000000)")
reader = query.fetch_record_batch(100_000)
total = rows = 0
for batch in reader:
    rows, total = rows + batch.num_rows, total + batch.column(0)[0].as_py()
assert rows == 3_000_000
print(rows)
