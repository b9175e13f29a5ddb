"""Parquet, one file, row groups of 1,000 rows, no compression."""

import pyarrow
import pyarrow.parquet
from formats import arrow_columns


def write(rows, folder, group_rows=1000, compression="none"):
    schema = arrow_columns.schema(rows)
    options = {"compression": compression, "use_dictionary": False, "write_statistics": False}
    with pyarrow.parquet.ParquetWriter(folder / "tokens.parquet", schema, **options) as writer:
        for batch in arrow_columns.batches(rows, group_rows):
            writer.write_table(pyarrow.Table.from_batches([batch]), row_group_size=group_rows)
