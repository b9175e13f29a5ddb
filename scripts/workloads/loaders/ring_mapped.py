"""Shared slots as in `ring`, filled from a map of the file instead of by preadv: for files that stay in memory."""

import mmap

import numpy
from loaders import ring

FORMAT, KIND, SHUFFLE = "npy", "best", "rows"


class Mapped(ring.Ring):
    def __init__(self, folder, how):
        super().__init__(folder, how)
        self.advice = how.advice

    def open(self):
        super().open()
        self.ids = numpy.load(self.path, mmap_mode="r")
        if self.advice == "random":
            self.ids._mmap.madvise(mmap.MADV_RANDOM)

    def __getstate__(self):
        return {**super().__getstate__(), "ids": None}

    def __getitem__(self, rows):
        if self.file is None:
            self.open()
        self.number = (self.number + 1) % len(self.mine)
        slot = self.mine[self.number]
        if isinstance(rows, slice):
            slot[: rows.stop - rows.start] = self.ids[rows]
        else:
            numpy.take(self.ids, rows, axis=0, out=slot[: len(rows)], mode="clip")
        return self.worker, self.number, rows


def make(folder, how):
    return ring.make(folder, how, Mapped)
