"""LMDB: a transaction per batch."""

import lmdb
import numpy
from loaders.how import Opened

FORMAT, KIND, SHUFFLE = "lmdb", "library", "rows"


def environment(path):
    return lmdb.open(path, subdir=False, readonly=True, lock=False, readahead=False)


def opened(path):
    source = environment(path)

    def read(rows):
        numbers = range(rows.start, rows.stop) if isinstance(rows, slice) else rows.tolist()
        with source.begin(buffers=True) as transaction:
            values = [numpy.frombuffer(transaction.get(number.to_bytes(8, "big")), "int32") for number in numbers]
            rows = numpy.stack(values)
        return rows[:, 2:].copy(), rows[:, :2].copy().view("int64")[:, 0]

    return read


def make(folder, how):
    path = str(folder / "tokens.lmdb")
    source = environment(path)
    count = source.stat()["entries"]
    source.close()
    return how.blocks(Opened(count, opened, path))
