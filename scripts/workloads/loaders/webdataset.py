"""WebDataset: tars in order, or shards and a buffer shuffled."""

import functools

import webdataset

FORMAT, KIND, SHUFFLE = "webdataset", "library", "buffer"
BUFFER_ROWS = 1000


def collate(rows):
    import numpy
    import torch

    return torch.from_numpy(numpy.stack([ids for ids, _ in rows])), torch.tensor([label for _, label in rows])


def by_rank(urls, how):
    """Give every rank its share of the shards."""
    yield from list(urls)[how.rank :: how.ranks]


def make(folder, how):
    shards = sorted(str(path) for path in folder.glob("*.tar"))
    shuffle, split = len(shards) if how.shuffled else False, functools.partial(by_rank, how=how)
    dataset = webdataset.WebDataset(shards, shardshuffle=shuffle, nodesplitter=split, empty_check=False)
    if how.shuffled:
        dataset = dataset.shuffle(BUFFER_ROWS)
    dataset = dataset.decode().to_tuple("ids.npy", "cls")
    return how.own(webdataset.WebLoader, dataset, collate)
