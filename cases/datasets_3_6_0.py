# /// script
# requires-python = ">=3.11"
# dependencies = ["datasets"]
# ///
"""datasets 3.6.0: a shuffled stream of a Parquet file converts each row into an Arrow table and back."""

import pyarrow as pa
import pyarrow.parquet as pq
from datasets import load_dataset

pq.write_table(pa.table({"number": list(range(50_000))}), "rows.parquet")
stream = load_dataset("parquet", data_files="rows.parquet", split="train", streaming=True)
print(sum(row["number"] for row in stream.shuffle(seed=0, buffer_size=1000)))
