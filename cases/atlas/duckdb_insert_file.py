# /// script
# dependencies = ["duckdb"]
# ///
"""Inserts 2,000 rows one batch at a time into a database file, updates some, and reads it after it is opened again."""

import os

import duckdb

with duckdb.connect("rows.duckdb") as database:
    database.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, text VARCHAR)")
    for start in range(0, 2000, 100):
        database.execute("BEGIN")
        database.executemany("INSERT INTO rows VALUES (?, ?)", [(n, f"text {n}") for n in range(start, start + 100)])
        database.execute("COMMIT")
    database.execute("UPDATE rows SET text = 'even' WHERE id % 2 = 0")
with duckdb.connect("rows.duckdb", read_only=True) as database:
    counts = database.execute("SELECT count(*), count(DISTINCT text), sum(id) FROM rows").fetchone()
os.unlink("rows.duckdb")
assert counts == (2000, 1001, 2000 * 1999 // 2)
print(counts)
