"""A loader of your own, as `loaders: {mine: {module: examples/own_loader.py}}` names it in a config.

`make(folder, how)` gets a path, and how rows are to be delivered: `how.order`, `how.workers`, `how.batch_size` and so
on. The path is the folder of a token dataset, ids.npy and labels.npy in it, or what `data` names. What is returned is
iterated once an epoch; the first thing in each batch is its rows, the second, where there is one, their labels.
`how.items` makes an ordinary DataLoader of your Dataset class. `numbers(batch)`, where you can tell, says which rows a
batch of your own `data` holds: then rows that come twice or never are told too.
"""

import numpy
from torch.utils.data import Dataset

KIND, SHUFFLE = "own", "rows"


class Mine(Dataset):
    def __init__(self, path, labels):
        self.paths, self.rows, self.labels = (path, labels), None, None
        self.count = len(numpy.load(path, mmap_mode="r"))

    def __getstate__(self):
        return {**self.__dict__, "rows": None, "labels": None}

    def __len__(self):
        return self.count

    def __getitem__(self, number):
        if self.rows is None:
            path, labels = self.paths
            self.rows = numpy.load(path, mmap_mode="r")
            self.labels = numpy.load(labels, mmap_mode="r") if labels else range(self.count)
        return numpy.array(self.rows[number]), int(self.labels[number])


def make(folder, how):
    dataset = folder.is_dir()
    return how.items(Mine(folder / "ids.npy" if dataset else folder, folder / "labels.npy" if dataset else None))


def numbers(batch):
    return batch[1].tolist()
