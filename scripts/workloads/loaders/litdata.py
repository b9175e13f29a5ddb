"""LitData from a local folder."""

import numpy
import torch
from loaders.how import Tagged

FORMAT, KIND, SHUFFLE = "litdata", "library", "blocks"


def collate(rows):
    ids = torch.from_numpy(numpy.stack([row["ids"] for row in rows]))
    return ids, torch.tensor([row["label"] for row in rows])


def make(folder, how):
    import litdata

    dataset = litdata.StreamingDataset(str(folder / "chunks"), shuffle=how.shuffled, seed=how.seed)
    how.opened.append(dataset)
    return litdata.StreamingDataLoader(dataset, batch_size=how.batch_size, collate_fn=Tagged(collate), **how.options())
