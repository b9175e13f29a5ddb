"""HDF5 in chunks, read whole chunks at a time, shuffled within groups of chunks."""

import h5py
from formats.hdf5_chunked import CHUNK_ROWS
from loaders.how import Grouped

FORMAT, KIND, SHUFFLE = "hdf5_chunked", "ours", "blocks"


def opened(path):
    file = h5py.File(path, "r")
    ids, labels = file["ids"], file["labels"]
    return lambda first, last: (ids[first:last], labels[first:last])


def make(folder, how, open_it=opened):
    path = folder / "tokens.h5"
    with h5py.File(path, "r") as file:
        count = len(file["labels"])
    return how.stream(Grouped([*range(0, count, CHUNK_ROWS), count], how, open_it, path))
