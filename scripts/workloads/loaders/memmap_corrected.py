"""NumPy memmap, corrected: the shape from the file's header, opened in each worker, a row at a time."""

import mmap

import numpy
import torch
from torch.utils.data import Dataset

FORMAT, KIND, SHUFFLE = "npy", "corrected", "rows"
ADVISED = True


class Memmap(Dataset):
    def __init__(self, folder, advice="none"):
        self.folder, self.ids, self.labels = folder, None, None
        self.advice = advice
        self.count = numpy.load(folder / "ids.npy", mmap_mode="r").shape[0]

    def __getstate__(self):
        return {**self.__dict__, "ids": None, "labels": None}  # a pickled map would be a copy of the file

    def __len__(self):
        return self.count

    def open(self):
        if self.ids is None:
            self.ids = numpy.load(self.folder / "ids.npy", mmap_mode="r")
            self.labels = numpy.load(self.folder / "labels.npy", mmap_mode="r")
            if self.advice == "random":
                self.ids._mmap.madvise(mmap.MADV_RANDOM)
        return self.ids, self.labels

    def __getitem__(self, number):
        ids, labels = self.open()
        return torch.from_numpy(numpy.array(ids[number])), int(labels[number])


def make(folder, how):
    return how.items(Memmap(folder, how.advice))
