"""NumPy memmap, a batch at a time: one slice in order, one gather when shuffled."""

import numpy
from loaders import memmap_corrected

FORMAT, KIND, SHUFFLE = "npy", "ours", "rows"
ADVISED = True


class MemmapBatched(memmap_corrected.Memmap):
    def __getitem__(self, rows):
        ids, labels = self.open()
        return numpy.array(ids[rows]), numpy.array(labels[rows])


def make(folder, how):
    return how.blocks(MemmapBatched(folder, how.advice))
