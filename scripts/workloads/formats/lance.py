"""Lance: one dataset of fixed-size lists."""

import lance
import pyarrow
from formats import arrow_columns


def write(rows, folder):
    schema = arrow_columns.schema(rows)
    reader = pyarrow.RecordBatchReader.from_batches(schema, arrow_columns.batches(rows, 1000))
    lance.write_dataset(reader, str(folder / "tokens.lance"), schema=schema)
