"""Two .npy files with the rows' bytes as in memory."""

import numpy


def write(rows, folder):
    ids = numpy.lib.format.open_memmap(folder / "ids.npy", "w+", numpy.int32, (rows.count, rows.width))
    labels = numpy.empty(rows.count, numpy.int64)
    rows.fill(ids, labels)
    ids.flush()
    numpy.save(folder / "labels.npy", labels)
