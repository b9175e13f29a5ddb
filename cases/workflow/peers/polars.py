"""Polars: a lazy scan of JSON Lines, a Python function over batches of a column, a streamed sink."""

import polars
import pyarrow.parquet
from peers.how import lists


def tokenize(how):
    encode = how.encoder()

    def ids(texts):
        documents = [list(document) for document in encode(texts.to_list())]
        return polars.Series(documents, dtype=polars.List(polars.Int32))

    column = polars.col("text").map_batches(ids, return_dtype=polars.List(polars.Int32), is_elementwise=True)
    lazy = polars.scan_ndjson(how.files, schema={"text": polars.String, "label": polars.String})
    lazy.select(column.alias("input_ids")).sink_parquet(f"{how.out}/ids.parquet", maintain_order=True)


def documents(how):
    return lists(pyarrow.parquet.ParquetFile(f"{how.out}/ids.parquet"))
