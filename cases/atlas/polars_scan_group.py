# /// script
# dependencies = ["polars"]
# ///
"""Writes three million rows as Parquet, then scans, filters and groups them lazily."""

import os

import polars as pl

pl.DataFrame({"id": range(3_000_000)}).with_columns(
    key=pl.col("id") % 1000, text=pl.lit("text ") + (pl.col("id") % 5000).cast(pl.String)
).write_parquet("rows.parquet")
lazy = pl.scan_parquet("rows.parquet").filter(pl.col("id") > 10)
grouped = lazy.group_by("key").agg(pl.col("id").sum(), pl.col("text").n_unique()).sort("key").collect()
os.unlink("rows.parquet")
assert grouped.height == 1000 and grouped["id"].sum() == sum(range(3_000_000)) - 55
print(grouped["id"][7], grouped["text"][7])
