# /// script
# requires-python = ">=3.11"
# dependencies = ["datasets"]
# ///
"""datasets 5.0.0: a pass over a shuffled stream of one Parquet file sleeps for 5 s; no CPU time shows it."""

import pyarrow as pa
import pyarrow.parquet as pq
from datasets import load_dataset

pq.write_table(pa.table({"number": list(range(1000))}), "rows.parquet")
stream = load_dataset("parquet", data_files="rows.parquet", split="train", streaming=True)
print(sum(row["number"] for row in stream.shuffle(seed=0, buffer_size=10)))
