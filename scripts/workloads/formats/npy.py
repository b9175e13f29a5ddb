"""Two .npy files: the rows as they lie in memory."""

import numpy


def write(rows, folder):
    ids = numpy.lib.format.open_memmap(folder / "ids.npy", "w+", numpy.int32, (rows.count, rows.width))
    labels = numpy.empty(rows.count, numpy.int64)
    start = 0
    for some, their_labels in rows.chunks(4096):
        ids[start : start + len(some)] = some
        labels[start : start + len(some)] = their_labels
        start += len(some)
    ids.flush()
    numpy.save(folder / "labels.npy", labels)
