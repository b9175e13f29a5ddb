# /// script
# requires-python = ">=3.11"
# dependencies = ["polars"]
# ///
"""polars 1.37: `read_csv` with `infer_schema_length=None` takes many times the file (pola-rs/polars#26410)."""

import polars as pl

frame = pl.DataFrame({"text": [f"{number:032x}" for number in range(400_000)]})
frame.write_csv("rows.csv")
print(pl.read_csv("rows.csv", infer_schema_length=None).shape)
