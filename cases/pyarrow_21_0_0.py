# /// script
# requires-python = ">=3.11"
# dependencies = ["pyarrow", "numpy"]
# ///
"""pyarrow 21.0.0: reading the same Parquet file again and again takes more each time (apache/arrow#47266)."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

columns = {f"column{number}": np.random.default_rng(number).random(200_000) for number in range(10)}
pq.write_table(pa.table(columns), "rows.parquet")
for _ in range(15):
    table = pq.read_table("rows.parquet")
Path("rows.parquet").unlink()  # it has the version in it
print(table.num_rows)
