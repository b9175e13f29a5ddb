"""Arrow IPC, one file, record batches of 1,000 rows."""

import pyarrow
from formats import arrow_columns


def write(rows, folder):
    with (
        pyarrow.OSFile(str(folder / "tokens.arrow"), "wb") as sink,
        pyarrow.ipc.new_file(sink, arrow_columns.schema(rows)) as writer,
    ):
        for batch in arrow_columns.batches(rows, 1000):
            writer.write_batch(batch)
