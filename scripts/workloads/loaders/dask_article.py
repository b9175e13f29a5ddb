"""Parquet through Dask as in the article: its length computed in the parent, batches by `.loc` on the index."""

import dask.dataframe
import numpy
from loaders.how import tensors
from torch.utils.data import Dataset

FORMAT, KIND, SHUFFLE = "parquet_parts", "as written", "blocks"
BATCH_ROWS = 100


class Dask(Dataset):
    def __init__(self, folder):
        self.frame = dask.dataframe.read_parquet(folder)
        self.count = len(self.frame)

    def __len__(self):
        return self.count // BATCH_ROWS

    def __getitem__(self, number):
        part = self.frame.loc[number * BATCH_ROWS : (number + 1) * BATCH_ROWS].compute()
        return numpy.array(part["ids"].to_list(), "int32"), part["label"].to_numpy()


def collate(parts):
    ids, labels = zip(*parts, strict=True)
    return tensors((numpy.concatenate(ids), numpy.concatenate(labels)))


def make(folder, how):
    how.batch_size = 1
    return how.items(Dask(folder), collate)
