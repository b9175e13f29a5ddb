# /// script
# dependencies = ["pandas", "numpy", "pyarrow"]
# ///
"""Writes a table of two million rows as Parquet and reads it back, twice."""

import os

import numpy as np
import pandas as pd

rows = np.arange(2_000_000)
table = pd.DataFrame({"id": rows, "value": rows / 3, "text": pd.Series(rows % 1000).astype(str)})
table.to_parquet("rows.parquet")
del table
for _ in range(2):
    again = pd.read_parquet("rows.parquet")
    assert int(again["id"].sum()) == int(rows.sum()) and again["text"].nunique() == 1000
    del again
os.unlink("rows.parquet")
print(len(rows))
