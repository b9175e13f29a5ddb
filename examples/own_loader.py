"""A loader of your own. A config names it: `loaders: {mine: {module: examples/own_loader.py}}`.

`make(folder, how)` returns an iterable over batches, which is iterated once per epoch. `folder` is a token dataset
(ids.npy and labels.npy) or the config's `data`. `how` has the settings: `how.order`, `how.workers`, `how.batch_size`
and so on. The first item of a batch is its rows, the optional second one their labels. `how.items` makes an ordinary
DataLoader from your Dataset class. The optional `numbers(batch)` returns the row numbers of a batch of your own
`data`; with it, duplicate and missing rows are reported.
"""

import numpy
from torch.utils.data import Dataset

SHUFFLE = "rows"


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
