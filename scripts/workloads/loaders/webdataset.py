"""WebDataset: tars in order, or shards and a buffer shuffled."""

import webdataset
from loaders.how import Tagged

FORMAT, KIND, SHUFFLE = "webdataset", "library", "buffer"
BUFFER_ROWS = 1000


def collate(rows):
    import numpy
    import torch

    return torch.from_numpy(numpy.stack([ids for ids, _ in rows])), torch.tensor([label for _, label in rows])


class ByRank:
    """Every rank its share of the shards."""

    def __init__(self, how):
        self.how = how

    def __call__(self, urls):
        yield from list(urls)[self.how.rank :: self.how.ranks]


def make(folder, how):
    shards = sorted(str(path) for path in folder.glob("*.tar"))
    dataset = webdataset.WebDataset(
        shards, shardshuffle=len(shards) if how.shuffled else False, nodesplitter=ByRank(how), empty_check=False
    )
    if how.shuffled:
        dataset = dataset.shuffle(BUFFER_ROWS)
    dataset = dataset.decode().to_tuple("ids.npy", "cls")
    how.opened.append(dataset)
    return webdataset.WebLoader(dataset, batch_size=how.batch_size, collate_fn=Tagged(collate), **how.options())
