# /// script
# dependencies = ["polars"]
# ///
"""Streams a table through a filter from one Parquet file into another."""

import os

import polars as pl

pl.DataFrame({"id": range(4_000_000)}).with_columns(text=pl.col("id").cast(pl.String)).write_parquet("rows.parquet")
pl.scan_parquet("rows.parquet").filter(pl.col("id") % 3 == 0).sink_parquet("kept.parquet")
kept = pl.scan_parquet("kept.parquet").select(pl.len(), pl.col("id").sum()).collect()
os.unlink("rows.parquet")
os.unlink("kept.parquet")
assert kept.row(0)[0] == 1_333_334
print(kept.row(0))
