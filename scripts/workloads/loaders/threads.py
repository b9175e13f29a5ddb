"""Threads instead of processes: they fill slots of one memory while the loop uses an earlier one.

Reading releases the interpreter lock, so threads read in parallel; nothing is pickled, sent, or stored twice. In order,
a batch is one preadv into its slot; shuffled, it is one gather from a map of the file. A batch is valid until the next
one is requested.

Passing a batch between threads costs as much as copying it, and pays only when waiting for a disk. So an epoch in order
starts without threads: with RWF_NOWAIT, see preadv2(2), a read returns only what is in the page cache. Threads read
from the first batch on that is not wholly cached.
"""

import collections
import concurrent.futures
import mmap
import os

import numpy
from loaders.how import Batches, Tagged, tensors
from torch.utils.data import DataLoader, IterableDataset

FORMAT, KIND, SHUFFLE = "npy", "ours", "rows"
ADVISED = True
AHEAD = 1


class Threads(IterableDataset):
    def __init__(self, folder, how):
        self.ids = numpy.load(folder / "ids.npy", mmap_mode="r")
        if how.advice == "random":
            self.ids._mmap.madvise(mmap.MADV_RANDOM)
        self.labels = numpy.load(folder / "labels.npy")
        self.file = os.open(folder / "ids.npy", os.O_RDONLY)
        self.threads, self.ahead = how.workers, AHEAD * how.workers
        self.sampler = Batches(len(self.labels), how)
        self.slots = numpy.zeros((self.ahead + 1, how.batch_size, self.ids.shape[1]), numpy.int32)
        self.pool = concurrent.futures.ThreadPoolExecutor(self.threads) if self.threads else None

    def fill(self, slot, rows):
        if isinstance(rows, slice):
            slot = slot[: rows.stop - rows.start]
            os.preadv(self.file, [slot], self.ids.offset + rows.start * slot.strides[0])
        else:
            slot = slot[: len(rows)]
            numpy.take(self.ids, rows, axis=0, out=slot, mode="clip")
        return slot, self.labels[rows]

    def cached(self, rows):
        """A batch in order that is wholly in the page cache; else None, and None if the file system cannot tell."""
        if not isinstance(rows, slice):
            return None
        slot = self.slots[0][: rows.stop - rows.start]
        try:
            read = os.preadv(self.file, [slot], self.ids.offset + rows.start * slot.strides[0], os.RWF_NOWAIT)
        except OSError:
            return None
        return (slot, self.labels[rows]) if read == slot.nbytes else None

    def __iter__(self):
        if not self.pool:
            for rows in self.sampler:
                yield self.fill(self.slots[0], rows)
            return
        waiting: collections.deque[concurrent.futures.Future] = collections.deque()
        for number, rows in enumerate(self.sampler):
            if not waiting and (batch := self.cached(rows)):
                yield batch
                continue
            if len(waiting) == self.ahead:
                yield waiting.popleft().result()
            waiting.append(self.pool.submit(self.fill, self.slots[number % len(self.slots)], rows))
        while waiting:
            yield waiting.popleft().result()


def make(folder, how):
    dataset = Threads(folder, how)
    return DataLoader(dataset, batch_size=None, collate_fn=Tagged(tensors))
