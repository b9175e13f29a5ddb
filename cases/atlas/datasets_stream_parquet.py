# /// script
# dependencies = ["datasets", "pyarrow", "pandas", "numpy"]
# ///
"""Streams a shuffled Parquet file of 100,000 rows."""

import os

os.environ["HF_HOME"] = os.path.abspath("home")
os.environ["HF_HUB_OFFLINE"] = "1"
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
from datasets import load_dataset

table = pa.table({"id": list(range(100_000)), "text": [f"text {n}" * 10 for n in range(100_000)]})
pq.write_table(table, "rows.parquet", row_group_size=10_000)
stream = load_dataset("parquet", data_files="rows.parquet", split="train", streaming=True)
total = sum(row["id"] for row in stream.shuffle(seed=0, buffer_size=1000))
os.unlink("rows.parquet")
shutil.rmtree("home", ignore_errors=True)
assert total == sum(range(100_000))
print(total)
