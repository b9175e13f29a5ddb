# /// script
# dependencies = ["duckdb"]
# ///
"""Writes five million rows as Parquet, and groups and joins them from the file."""

import os

import duckdb

database = duckdb.connect()
database.execute("SET threads = 2")
database.execute(
    "COPY (SELECT range AS id, range % 1000 AS key, 'text ' || (range % 5000) AS text FROM range(5000000)) "
    "TO 'rows.parquet' (FORMAT parquet)"
)
grouped = database.execute("SELECT key, count(*), sum(id) FROM 'rows.parquet' GROUP BY key ORDER BY key").fetchall()
texts = database.execute("SELECT count(DISTINCT text) FROM 'rows.parquet'").fetchone()
os.unlink("rows.parquet")
assert len(grouped) == 1000 and grouped[7][1] == 5000 and texts == (5000,)
print(grouped[7], texts)
