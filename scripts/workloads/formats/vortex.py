"""Vortex: one file of fixed-size lists."""

import pyarrow
import vortex
from formats import arrow_columns


def write(rows, folder):
    schema = arrow_columns.schema(rows)
    reader = pyarrow.RecordBatchReader.from_batches(schema, arrow_columns.batches(rows, 1000))
    vortex.io.write(reader, str(folder / "tokens.vortex"))
