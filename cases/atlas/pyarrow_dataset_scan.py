# /// script
# dependencies = ["pyarrow", "numpy"]
# ///
"""Writes ten Parquet files and scans them as a dataset, a batch at a time."""

import os
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

os.mkdir("rows")
for part in range(10):
    ids = np.arange(part * 400_000, (part + 1) * 400_000)
    table = pa.table({"id": ids, "text": pa.array([f"text {n % 1000}" for n in range(400_000)])})
    pq.write_table(table, f"rows/{part}.parquet")
total = rows = 0
for batch in ds.dataset("rows").to_batches():
    rows, total = rows + batch.num_rows, total + int(batch.column("id").to_numpy().sum())
shutil.rmtree("rows")
assert (rows, total) == (4_000_000, sum(range(4_000_000)))
print(rows, total)
