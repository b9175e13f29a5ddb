"""Zarr 3, read whole chunks at a time, shuffled within groups of chunks."""

import zarr
from loaders.how import Grouped

FORMAT, KIND, SHUFFLE = "zarr", "library", "blocks"


def opened(path):
    group = zarr.open_group(path, mode="r")
    ids, labels = group["ids"], group["labels"][:]
    return lambda first, last: (ids[first:last], labels[first:last])


def make(folder, how):
    path = str(folder / "tokens.zarr")
    ids = zarr.open_group(path, mode="r")["ids"]
    bounds = [*range(0, ids.shape[0], ids.chunks[0]), ids.shape[0]]
    if how.workers and how.start == "fork":
        how.cannot("Zarr 3 has an event loop in a thread of its own, which does not survive a fork")
    return how.stream(Grouped(bounds, how, opened, path))
