"""Hugging Face `datasets` from disk, a batch at a time through Arrow."""

from loaders.how import arrays
from torch.utils.data import Dataset

FORMAT, KIND, SHUFFLE = "datasets", "ours", "rows"


class DatasetsBatched(Dataset):
    def __init__(self, dataset):
        self.dataset = dataset.with_format("arrow")

    def __len__(self):
        return len(self.dataset)

    def __getitem__(self, rows):
        return arrays(self.dataset[rows])


def make(folder, how):
    from datasets import load_from_disk

    return how.blocks(DatasetsBatched(load_from_disk(str(folder / "saved"))))
