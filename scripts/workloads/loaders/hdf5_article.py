"""HDF5 as in the article: the file opened when the dataset is made, a row at a time."""

import h5py
import torch
from torch.utils.data import Dataset

FORMAT, KIND, SHUFFLE = "hdf5", "as written", "rows"


class ArticleHdf5(Dataset):
    def __init__(self, folder):
        self.file = h5py.File(folder / "tokens.h5", "r")
        self.ids, self.labels = self.file["ids"], self.file["labels"]

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, number):
        return torch.tensor(self.ids[number]), torch.tensor(self.labels[number])


def make(folder, how):
    return how.items(ArticleHdf5(folder))
