"""LitData: chunks of 16 MB, written by its own optimizer."""

from functools import partial

import numpy


def write(rows, folder):
    import litdata

    starts = list(range(0, rows.count, 1000))
    litdata.optimize(
        partial(some, rows), starts, output_dir=str(folder / "chunks"), num_workers=1, chunk_bytes="16MB", verbose=False
    )


def some(rows, start):
    """The rows from `start` on. At module level, because LitData pickles it for its workers."""
    ids = numpy.load(rows.folder / "npy" / "ids.npy", mmap_mode="r")[start : start + 1000]
    labels = numpy.load(rows.folder / "npy" / "labels.npy", mmap_mode="r")[start : start + 1000]
    for row, label in zip(ids, labels, strict=True):
        yield {"ids": numpy.array(row), "label": int(label)}
