"""NumPy memmap as in the article: no shape, chunks by floor division, the map pickled with the dataset."""

import functools

import numpy
from loaders.how import tensors
from torch.utils.data import Dataset

FORMAT, KIND, SHUFFLE = "npy", "as written", "blocks"
HEADER_BYTES, CHUNK_ROWS = 128, 100


class ArticleMemmap(Dataset):
    def __init__(self, folder, width):
        self.width = width
        self.ids = numpy.memmap(folder / "ids.npy", dtype="int32", mode="r", offset=HEADER_BYTES)
        self.labels = numpy.memmap(folder / "labels.npy", dtype="int64", mode="r", offset=HEADER_BYTES)

    def __len__(self):
        return len(self.labels) // CHUNK_ROWS

    def __getitem__(self, number):
        # The array is one-dimensional: a slice needs the width.
        chunk = CHUNK_ROWS * self.width
        ids = self.ids[number * chunk : (number + 1) * chunk]
        return numpy.array(ids), numpy.array(self.labels[number * CHUNK_ROWS : (number + 1) * CHUNK_ROWS])


def collate(chunks, width):
    ids = numpy.concatenate([ids for ids, _ in chunks]).reshape(-1, width)
    return tensors((ids, numpy.concatenate([labels for _, labels in chunks])))


def make(folder, how):
    how.batch_size = max(1, how.batch_size // CHUNK_ROWS)
    width = numpy.load(folder / "ids.npy", mmap_mode="r").shape[1]
    return how.items(ArticleMemmap(folder, width), functools.partial(collate, width=width))
