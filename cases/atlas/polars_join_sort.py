# /// script
# dependencies = ["polars"]
# ///
"""Joins two million rows with 100,000 others and sorts the result by two columns."""

import polars as pl

rows = pl.select(id=pl.int_range(0, 2_000_000)).with_columns(key=pl.col("id") * 7919 % 100_000)
others = pl.select(key=pl.int_range(0, 100_000)).with_columns(group=pl.col("key") % 1000)
joined = rows.join(others, on="key").sort("group", "id")
assert joined.height == 2_000_000 and joined["group"][0] == 0 and joined["group"][-1] == 999
assert joined["id"].sum() == 2_000_000 * 1_999_999 // 2
print(joined.height, joined["id"][-1])
