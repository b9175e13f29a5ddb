# /// script
# requires-python = ">=3.11"
# dependencies = ["duckdb"]
# ///
"""duckdb 1.4.0: writing and reading a Parquet file leaves a larger heap; a part of it comes with the import."""

from pathlib import Path

import duckdb

database = duckdb.connect()
database.execute("SET threads = 2")
database.execute("COPY (SELECT range AS id, 'text ' || (range % 5000) AS text FROM range(5000000)) TO 'rows.parquet'")
print(database.execute("SELECT count(DISTINCT text) FROM 'rows.parquet'").fetchone())
Path("rows.parquet").unlink()  # it has the version in it
