"""ArrayRecord: a record per row, in groups of one, for random access."""

import numpy
from array_record.python.array_record_module import ArrayRecordWriter


def write(rows, folder):
    writer = ArrayRecordWriter(str(folder / "tokens.array_record"), "group_size:1")
    for ids, labels in rows.chunks(1000):
        for row, label in zip(ids, labels, strict=True):
            writer.write(numpy.int64(label).tobytes() + row.tobytes())
    writer.close()
