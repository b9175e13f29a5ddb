"""LMDB: a key per row; the value is the row's bytes."""

import lmdb
import numpy


def write(rows, folder):
    environment = lmdb.open(str(folder / "tokens.lmdb"), map_size=rows.bytes * 3 + (64 << 20), subdir=False)
    number = 0
    for ids, labels in rows.chunks(1000):
        with environment.begin(write=True) as transaction:
            for row, label in zip(ids, labels, strict=True):
                value = numpy.int64(label).tobytes() + row.tobytes()
                transaction.put(number.to_bytes(8, "big"), value, append=True)
                number += 1
    environment.sync()
    environment.close()
