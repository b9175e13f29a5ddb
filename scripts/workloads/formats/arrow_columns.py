"""Record batches of a fixed-size list of ids and a label, for all Arrow formats."""

import pyarrow


def schema(rows):
    return pyarrow.schema([("ids", pyarrow.list_(pyarrow.int32(), rows.width)), ("label", pyarrow.int64())])


def batches(rows, size):
    for ids, labels in rows.chunks(size):
        column = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(ids.reshape(-1)), rows.width)
        yield pyarrow.record_batch([column, pyarrow.array(labels)], schema=schema(rows))


def reader(rows):
    return pyarrow.RecordBatchReader.from_batches(schema(rows), batches(rows, 1000))
