"""ArrayRecord: records by number."""

import numpy
from array_record.python.array_record_data_source import ArrayRecordDataSource
from loaders.how import Opened

FORMAT, KIND, SHUFFLE = "arrayrecord", "library", "rows"


def opened(path):
    source = ArrayRecordDataSource(path)

    def read(rows):
        numbers = list(range(rows.start, rows.stop)) if isinstance(rows, slice) else rows.tolist()
        rows = numpy.stack([numpy.frombuffer(record, "int32") for record in source.__getitems__(numbers)])
        return rows[:, 2:].copy(), rows[:, :2].copy().view("int64")[:, 0]

    return read


def make(folder, how):
    if how.workers and how.start == "fork":
        how.cannot("ArrayRecord's own threads do not survive a fork")
    path = str(folder / "tokens.array_record")
    return how.blocks(Opened(len(ArrayRecordDataSource(path)), opened, path))
