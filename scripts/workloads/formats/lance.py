"""Lance: one dataset of fixed-size lists."""

import lance
from formats import arrow_columns


def write(rows, folder):
    reader = arrow_columns.reader(rows)
    lance.write_dataset(reader, str(folder / "tokens.lance"), schema=reader.schema)
