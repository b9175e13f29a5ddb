"""Reading with preadv into shared memory that is mapped once: workers fill slots, the parent reads them in place.

A batch of a DataLoader's worker normally travels in shared memory that is created, zeroed, mapped twice and discarded
for every batch. Here each worker has one slot for each batch in flight, and one more for the batch in use. A batch is
valid until the next one is requested.
"""

import os

import numpy
import torch
from loaders.how import Batches, this_worker
from torch.utils.data import DataLoader, Dataset

FORMAT, KIND, SHUFFLE = "npy", "ours", "rows"
# Batches in flight per worker. Batches of some 4 MB together share the cost of one message.
PREFETCH, MESSAGE_BYTES = 2, 4 << 20


class Ring(Dataset):
    def __init__(self, folder, how):
        ids = numpy.load(folder / "ids.npy", mmap_mode="r")
        self.path, (self.count, self.width), self.offset = folder / "ids.npy", ids.shape, ids.offset
        self.labels = torch.from_numpy(numpy.load(folder / "labels.npy")).share_memory_()
        self.message_rows = how.batch_size * max(1, MESSAGE_BYTES // (how.batch_size * self.width * 4))
        shape = (max(1, how.workers), PREFETCH + 1 if how.workers else 1, self.message_rows, self.width)
        self.slots = torch.zeros(shape, dtype=torch.int32).share_memory_()
        self.file, self.number = None, 0

    def __getstate__(self):
        return {**self.__dict__, "file": None, "mine": None}

    def __getitem__(self, rows):
        file = self.open() if self.file is None else self.file
        self.number = (self.number + 1) % len(self.mine)
        slot, row_bytes = self.mine[self.number], self.width * 4
        if isinstance(rows, slice):
            os.preadv(file, [slot[: rows.stop - rows.start]], self.offset + rows.start * row_bytes)
        else:
            for place, offset in zip(slot, (self.offset + rows * row_bytes).tolist(), strict=False):
                os.preadv(file, [place], offset)
        return self.worker, self.number, rows

    def open(self):
        self.file = os.open(self.path, os.O_RDONLY)
        self.worker, _ = this_worker()
        self.mine = self.slots[self.worker].numpy()
        return self.file


class Views:
    """One epoch each time it is iterated: the parent's views of the slots, a batch at a time."""

    def __init__(self, dataset, loader, batch_size):
        self.dataset, self.loader, self.batch_size = dataset, loader, batch_size

    def __iter__(self):
        for worker, number, rows in self.loader:
            labels = self.dataset.labels[rows if isinstance(rows, slice) else torch.from_numpy(rows)]
            slot = self.dataset.slots[worker, number]
            for start in range(0, len(labels), self.batch_size):
                stop = min(start + self.batch_size, len(labels))
                yield slot[start:stop], labels[start:stop], worker


def as_it_is(message):
    return message


def make(folder, how, ring=Ring):
    dataset = ring(folder, how)
    how.opened.append(dataset)
    options = how.options() | ({"prefetch_factor": PREFETCH} if how.workers else {})
    sampler = Batches(dataset.count, how, dataset.message_rows)
    loader = DataLoader(dataset, batch_size=None, sampler=sampler, collate_fn=as_it_is, **options)
    return Views(dataset, loader, how.batch_size)
