# /// script
# dependencies = ["duckdb"]
# ///
"""Reads a CSV of 500,000 rows with detected types, and ranks rows in windows."""

import os

import duckdb

with open("rows.csv", "w") as file:
    file.write("id,key,value,text\n")
    file.writelines(f"{n},{n % 100},{n / 2},text {n % 1000}\n" for n in range(500_000))
database = duckdb.connect()
database.execute("SET threads = 2")
total = database.execute("SELECT count(*), sum(value), count(DISTINCT text) FROM read_csv('rows.csv')").fetchone()
first = database.execute(
    "SELECT key, id FROM (SELECT *, row_number() OVER (PARTITION BY key ORDER BY value DESC) AS rank "
    "FROM read_csv('rows.csv')) WHERE rank = 1 ORDER BY key"
).fetchall()
os.unlink("rows.csv")
assert total == (500_000, 500_000 * 499_999 / 4, 1000) and first == [(n, 499_900 + n) for n in range(100)]
print(total, first[-1])
