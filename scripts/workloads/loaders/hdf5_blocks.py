"""HDF5 in chunks, read whole chunks at a time, shuffled within groups of them."""

import h5py
from formats.hdf5_chunked import CHUNK_ROWS
from loaders.how import Grouped

FORMAT, KIND, SHUFFLE = "hdf5_chunked", "ours", "blocks"


class Open:
    def __init__(self, path):
        self.path = path

    def __call__(self):
        file = h5py.File(self.path, "r")
        ids, labels = file["ids"], file["labels"]
        return lambda first, last: (ids[first:last], labels[first:last])


def make(folder, how, open_it=Open):
    with h5py.File(folder / "tokens.h5", "r") as file:
        count = len(file["labels"])
    bounds = [*range(0, count, CHUNK_ROWS), count]
    return how.stream(Grouped(bounds, how, open_it(folder / "tokens.h5")))
