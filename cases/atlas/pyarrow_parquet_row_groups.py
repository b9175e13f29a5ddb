# /// script
# dependencies = ["pyarrow", "numpy"]
# ///
"""Reads a Parquet file row group by row group, three passes."""

import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

table = pa.table({"id": np.arange(2_000_000), "text": pa.array([f"text {n}" for n in range(2_000_000)])})
pq.write_table(table, "rows.parquet", row_group_size=20_000)
del table
for _ in range(3):
    with pq.ParquetFile("rows.parquet") as file:
        total = sum(int(file.read_row_group(n).column("id")[0].as_py()) for n in range(file.num_row_groups))
os.unlink("rows.parquet")
assert total == 20_000 * sum(range(100))
print(total)
