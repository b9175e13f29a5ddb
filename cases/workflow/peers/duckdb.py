"""DuckDB: a Python function over Arrow arrays, within COPY from JSON Lines to Parquet, the order kept."""

import duckdb
import pyarrow
import pyarrow.parquet
from peers.how import lists


def tokenize(how):
    encode, kind = how.encoder(), pyarrow.list_(pyarrow.int32())

    def ids(texts):
        encoded = [encode(chunk.to_pylist()) for chunk in texts.chunks] if hasattr(texts, "chunks") else None
        encoded = encode(texts.to_pylist()) if encoded is None else [one for part in encoded for one in part]
        return pyarrow.array(encoded, kind)

    with duckdb.connect() as connection:
        connection.execute(f"SET threads = {how.workers}")
        connection.execute(f"SET temp_directory = '{how.out}/spilled'")
        connection.create_function("ids", ids, ["VARCHAR"], "INTEGER[]", type="arrow")
        columns = "columns = {text: 'VARCHAR'}, format = 'newline_delimited'"
        query = f"SELECT ids(text) AS input_ids FROM read_json(?, {columns})"
        connection.execute(f"COPY ({query}) TO '{how.out}/ids.parquet' (FORMAT parquet)", [how.files])


def documents(how):
    return lists(pyarrow.parquet.ParquetFile(f"{how.out}/ids.parquet"))
