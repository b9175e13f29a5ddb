"""NumPy memmap as the article has it: no shape, chunks by floor division, the map pickled with the dataset."""

import numpy
from loaders.how import tensors
from torch.utils.data import Dataset

FORMAT, KIND, SHUFFLE = "npy", "as written", "blocks"
HEADER_BYTES, CHUNK_ROWS, WIDTH = 128, 100, 1024


class Memmap(Dataset):
    def __init__(self, folder):
        self.ids = numpy.memmap(folder / "ids.npy", dtype="int32", mode="r", offset=HEADER_BYTES)
        self.labels = numpy.memmap(folder / "labels.npy", dtype="int64", mode="r", offset=HEADER_BYTES)

    def __len__(self):
        return len(self.labels) // CHUNK_ROWS

    def __getitem__(self, number):
        # One-dimensional: whoever slices has to know the width.
        ids = self.ids[number * CHUNK_ROWS * WIDTH : (number + 1) * CHUNK_ROWS * WIDTH]
        return numpy.array(ids), numpy.array(self.labels[number * CHUNK_ROWS : (number + 1) * CHUNK_ROWS])


def collate(chunks):
    ids = numpy.concatenate([ids for ids, _ in chunks]).reshape(-1, WIDTH)
    return tensors((ids, numpy.concatenate([labels for _, labels in chunks])))


def make(folder, how):
    how.batch_size = max(1, how.batch_size // CHUNK_ROWS)
    return how.items(Memmap(folder), collate)
