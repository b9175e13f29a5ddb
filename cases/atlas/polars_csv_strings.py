# /// script
# dependencies = ["polars"]
# ///
"""Reads a CSV of 500,000 rows and works on its texts."""

import io

import polars as pl

text = "id,key,text\n" + "".join(f"{n},{n % 100},some text {n % 1000}\n" for n in range(500_000))
table = pl.read_csv(io.BytesIO(text.encode()))
words = table.with_columns(pl.col("text").str.to_uppercase().str.split(" ").list.last().alias("word"))
counts = words["word"].value_counts()
assert counts.height == 1000 and counts["count"].sum() == 500_000
print(counts.height)
